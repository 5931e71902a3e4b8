"""Small files as other programs write them, each of one boat called Susie and what became of it."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

SUSIE = "My sailing boat is called Susie and lies in Kiel harbour."
REPLY = "A hull of steel needs a new coat of zinc primer every spring."
LATER = "The dentist appointment with Dr Okafor moved to Thursday morning."


def write(path: Path, data: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(data if isinstance(data, str) else json.dumps(data), "utf-8")
    return path


def chatgpt(folder: Path) -> Path:
    """Two conversations, the newer first; in the older a branch that was left, and a call."""

    def node(id: str, parent: str | None, role: str, text: Any, **more: Any) -> dict[str, Any]:
        content = {"content_type": "text", "parts": [text]}
        message = {"id": id, "author": {"role": role}, "create_time": 1_767_000_000.5}
        return {id: {"id": id, "parent": parent, "message": message | {"content": content} | more}}

    older = {
        "id": "c1",
        "title": "Boat",
        "create_time": 1_767_000_000.0,
        "current_node": "a2",
        "mapping": {"root": {"id": "root", "parent": None, "message": None}}
        | node("s", "root", "system", "You are helpful.")
        | node("u1", "s", "user", SUSIE)
        | node("a1", "u1", "assistant", "An answer that was asked for again and left.")
        | node("t", "u1", "assistant", "search()", recipient="browser")
        | node("a2", "t", "assistant", REPLY),
    }
    newer = {
        "id": "c2",
        "title": "Dentist",
        "create_time": 1_768_000_000.0,
        "current_node": "u2",
        "mapping": node("u2", None, "user", LATER)
        | node("img", None, "user", {"content_type": "image_asset_pointer"}),
    }
    newer["mapping"]["u2"]["parent"] = "img"
    path = write(folder / "conversations.json", [newer, older])
    with zipfile.ZipFile(folder / "chatgpt.zip", "w", zipfile.ZIP_DEFLATED) as file:
        file.write(path, "conversations.json")
        file.writestr("chat.html", "<html>")
    return folder / "chatgpt.zip"


def claude(folder: Path) -> Path:
    def message(id: str, sender: str, text: str, minute: int) -> dict[str, Any]:
        time = f"2026-01-02T10:0{minute}:00.000000Z"
        return {
            "uuid": id,
            "sender": sender,
            "text": "",
            "content": [{"type": "text", "text": text}, {"type": "tool_use", "name": "x"}],
            "created_at": time,
        }

    chat = {
        "uuid": "k1",
        "name": "Boat",
        "created_at": "2026-01-02T10:00:00Z",
        "chat_messages": [
            message("m1", "human", SUSIE, 0),
            message("m2", "assistant", REPLY, 1),
            message("m3", "human", LATER, 2),
            message("m4", "human", " ", 3),
        ],
    }
    return write(folder / "conversations.json", [chat])


def whatsapp(folder: Path) -> Path:
    text = (
        "\u200e[12/03/2026, 18:22:05] Boats: \u200eMessages and calls are end-to-end encrypted.\r\n"
        f"[12/03/2026, 18:22:05] Jonas: {SUSIE}\r\n"
        "\u200e[12/03/2026, 18:23:00] Mara: \u200eimage omitted\r\n"
        "[12/03/2026, 18:24:00] Mara: A hull of steel\r\n"
        "needs a new coat of zinc primer every spring.\r\n"
        f"[13/03/2026, 08:00:00] ~\u202fJonas: {LATER} \u200e<This message was edited>\r\n"
    )
    path = folder / "WhatsApp Chat - Boats.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("_chat.txt", text)
        file.writestr("00000012-PHOTO.jpg", b"\xff\xd8")
    return path


def telegram(folder: Path) -> Path:
    def message(id: int, name: str, text: Any, **more: Any) -> dict[str, Any]:
        time = {"date": "2026-03-12T18:22:05", "date_unixtime": str(1_773_339_725 + 60 * id)}
        base = {"id": id, "type": "message", "from": name, "from_id": f"user{name}", "text": text}
        return {**base, **time, **more}

    messages = [
        {"id": 1, "type": "service", "action": "create_group"},
        message(2, "Jonas", SUSIE),
        message(3, "Mara", ["A hull of steel needs ", {"type": "bold", "text": REPLY[22:]}]),
        message(4, "Mara", "", photo="photos/1.jpg"),
        message(5, "Jonas", LATER),
    ]
    chat = {"name": "Boats", "type": "private_group", "id": 77, "messages": messages}
    return write(folder / "result.json", {"about": "Yours", "chats": {"list": [chat]}})


def slack(folder: Path) -> Path:
    root = folder / "slack"
    users = [{"id": "U1", "name": "jonas", "profile": {"display_name": "Jonas"}}]
    users.append({"id": "U2", "name": "mara", "profile": {"real_name": "Mara"}})
    write(root / "users.json", users)
    write(root / "channels.json", [{"id": "C1", "name": "boats"}])

    def message(user: str, text: str, ts: str, **more: Any) -> dict[str, Any]:
        return {"type": "message", "user": user, "text": text, "ts": ts, **more}

    first = [
        message("U1", SUSIE, "1773339725.000100"),
        message("U2", "joined", "1773339726.000100", subtype="channel_join"),
        message("U2", f"<@U1> {REPLY} &amp; <https://a.example|more>", "1773339785.000200"),
    ]
    write(root / "boats" / "2026-03-12.json", first)
    thread = message("U1", LATER, "1773400000.000100", thread_ts="1773339725.000100")
    write(root / "boats" / "2026-03-13.json", [thread])
    return root


def messages(folder: Path) -> Path:
    parts = [{"type": "text", "text": REPLY}]
    lines = [
        {"role": "system", "content": "You are helpful."},
        {"role": "user", "content": SUSIE, "timestamp": "2026-03-12T18:22:05+01:00"},
        {
            "role": "assistant",
            "content": parts,
            "timestamp": 1773340000,
        },
        {"role": "user", "content": LATER, "timestamp": 1773400000000},
    ]
    return write(folder / "log.jsonl", "".join(f"{json.dumps(line)}\n" for line in lines))


def diary(folder: Path) -> Path:
    text = (
        "# 14 March 2026\n\n"
        f"{LATER}\n\n## A thought\n\nWith a heading of its own.\n\n"
        f"# Thursday, 12 March 2026, 18:22\n\n{SUSIE}\n\n# 13.03.2026\n\n{REPLY}\n\n# 2026-03-15\n"
    )
    return write(folder / "diary.md", text)


def vault(folder: Path) -> Path:
    root = folder / "vault"
    front = "---\ncreated: 2026-03-12\naliases:\n  - Suse\ntags: [boat, kiel]\n---\n"
    write(root / "Susie.md", f"{front}{SUSIE} See [[Paint|the paint]] and [[Nowhere]]. #sail\n")
    write(root / "Daily" / "2026-03-13.md", f"{LATER}\n\nWent to [[Suse]]; `[[Paint]]` is code.\n")
    write(root / "Paint.md", f"# Paint\n\n{REPLY} For [[Susie#Hull]].\n")
    write(root / "Empty.md", "\n")
    write(root / ".obsidian" / "notes.md", "Not a note.")
    return root


def mem0(folder: Path) -> Path:
    def memory(id: str, text: str, time: str | None) -> dict[str, Any]:
        return {"id": id, "memory": text, "user_id": "jonas", "created_at": time, "metadata": None}

    results = [
        memory("m3", LATER, "2026-03-14T08:00:00-07:00"),
        memory("m2", REPLY, None),
        memory("m1", SUSIE, "2026-03-12T08:00:00-07:00"),
    ]
    return write(folder / "mem0.json", {"results": results})


def store(folder: Path) -> Path:
    def item(key: str, value: Any, time: str) -> dict[str, Any]:
        return {"namespace": ["memories", "jonas"], "key": key, "value": value, "created_at": time}

    items = [
        item("a", {"kind": "Memory", "content": {"content": SUSIE}}, "2026-03-12T08:00:00+00:00"),
        item("b", {"content": REPLY}, "2026-03-13T08:00:00+00:00"),
        item("c", {"text": LATER}, "2026-03-14T08:00:00+00:00"),
    ]
    return write(folder / "store.jsonl", "".join(f"{json.dumps(each)}\n" for each in items))


FILES: dict[str, Callable[[Path], Path]] = {
    each.__name__: each
    for each in (
        *(chatgpt, claude, telegram, slack, whatsapp),
        *(store, mem0, messages, diary, vault),
    )
}
