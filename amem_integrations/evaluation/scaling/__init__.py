"""How storage and retrieval grow with the number of notes (the paper's Table 4).

`material` makes notes up, `storages` keeps them in four ways, `measure` asks each in a process
of its own, `writing` times one more note. `scale` runs it all; the command line shows it.
"""
