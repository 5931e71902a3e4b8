"""Whether the model hub answers, found out within a fixed time.

The libraries that download models wait for minutes on a network that swallows packets or a
resolver that hangs. This asks the hub the first question of such a download, and gives up early.
"""

import os
import queue
import threading

# A name server that hangs cannot be interrupted from Python: hence a thread that is left behind.
HUB_SECONDS = 1.5


def hub_problem(repository: str, *, seconds: float = HUB_SECONDS) -> str | None:
    """Why `repository` cannot be had from the hub now, in a few words; None if it can.

    Honours what huggingface_hub does: HF_ENDPOINT, HF_HUB_OFFLINE, HF_TOKEN, proxies.
    """
    if os.environ.get("HF_HUB_OFFLINE", "").strip().upper() in {"1", "TRUE", "YES", "ON"}:
        return "HF_HUB_OFFLINE is set"
    from huggingface_hub import constants

    answers: queue.Queue[str | None] = queue.Queue(1)
    threading.Thread(
        target=lambda: answers.put(_ask(repository, seconds)), name="amem-hub", daemon=True
    ).start()
    try:
        problem = answers.get(timeout=seconds)
    except queue.Empty:
        problem = f"no answer within {seconds:g} s"
    return None if problem is None else f"{constants.ENDPOINT}: {problem}"


def _ask(repository: str, seconds: float) -> str | None:
    from huggingface_hub import model_info

    try:
        model_info(repository, timeout=seconds)
    except Exception as error:
        first_line = (str(error).splitlines() or [""])[0]
        return f"{type(error).__name__}: {first_line[:200]}"
    return None
