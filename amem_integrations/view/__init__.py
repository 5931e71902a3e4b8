"""Pages to browse a memory with, for `amem view`: served to this machine, reading only.

`app` has the table of routes; `pages` answers each of them, with what `asking` reads from an
address, `reading` from the memory, `drawing` and `shares` make of it, and `rendering` makes HTML
of. `addresses` is where pages are, `serving` the socket and the server. What comes with the extra
`view` is imported here and nowhere else.
"""
