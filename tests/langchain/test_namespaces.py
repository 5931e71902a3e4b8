"""The namespace of a run."""

from dataclasses import dataclass
from enum import Enum
from typing import Any
from uuid import UUID

import pytest
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from amem_integrations.errors import InvalidInputError
from amem_integrations.langchain.namespaces import RunNamespace, namespace_resolver

USERS = ("users", "{user_id}")


def resolved(namespace: RunNamespace, **configurable: Any) -> tuple[str, ...]:
    """The namespace within a run that has this in its config."""
    resolve = namespace_resolver(namespace)
    config: RunnableConfig = {"configurable": configurable}
    return RunnableLambda(lambda _: resolve()).invoke(None, config)


@dataclass
class Context:
    user_id: str | None = None


class State(TypedDict, total=False):
    namespace: tuple[str, ...]


def resolved_in_a_graph(
    namespace: RunNamespace, context: Any, **configurable: Any
) -> tuple[str, ...]:
    resolve = namespace_resolver(namespace)
    builder = StateGraph(State, context_schema=Context)
    builder.add_node("node", lambda state: {"namespace": resolve()})
    builder.add_edge(START, "node")
    config: RunnableConfig = {"configurable": configurable}
    return builder.compile().invoke({}, config, context=context)["namespace"]


@pytest.mark.parametrize(
    ("namespace", "run", "expected"),
    [
        ("calvin", {}, ("calvin",)),
        (["users", "calvin"], {}, ("users", "calvin")),
        ("{{user_id}}", {}, ("{user_id}",)),
        ("user-{user_id}-{org}", {"user_id": "c", "org": "o"}, ("user-c-o",)),
        (USERS, {"user_id": 42}, ("users", "42")),
        (USERS, {"user_id": UUID(int=1)}, ("users", str(UUID(int=1)))),
        # What a field holds is text and nothing more.
        *(
            (USERS, {"user_id": name, "org": "o"}, ("users", name))
            for name in ("calvin@example.org", "{org}", '","', "../eve", "%")
        ),
    ],
)
def test_fields_of_labels_are_filled_from_the_config(
    namespace: Any, run: dict[str, Any], expected: tuple[str, ...]
) -> None:
    assert resolved(namespace, **run) == expected


def test_a_field_is_taken_from_the_context_first() -> None:
    assert resolved_in_a_graph(USERS, Context("calvin"), user_id="eve") == ("users", "calvin")
    assert resolved_in_a_graph("{org}", Context("calvin"), org="o") == ("o",)
    assert resolved_in_a_graph(USERS, None, user_id="eve") == ("users", "eve")
    assert resolved_in_a_graph(USERS, {"user_id": "calvin"}) == ("users", "calvin")


@pytest.mark.parametrize("context", [Context(), Context(""), {"user_id": None}, {"user_id": " "}])
def test_a_context_that_leaves_the_user_blank_lets_no_client_choose_one(context: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"needs 'user_id', and the run has nothing"):
        resolved_in_a_graph(USERS, context, user_id="eve")


class Role(str, Enum):  # noqa: UP042 (StrEnum writes its value by itself)
    ADMIN = "admin-1"


class Number(int, Enum):
    ONE = 1


@pytest.mark.parametrize(("user", "label"), [(Role.ADMIN, "admin-1"), (Number.ONE, "1")])
def test_a_member_of_an_enum_is_its_value(user: Any, label: str) -> None:
    assert resolved("user-{user_id}", user_id=user) == (f"user-{label}",)
    if isinstance(user, str):
        (found,) = resolved(user)
        assert (found, type(found)) == (label, str)


def test_a_number_that_python_does_not_write_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="thousands of digits"):
        resolved(USERS, user_id=10**5000)


@pytest.mark.parametrize("blank", [" ", "\t", "\u200b", "\u3164", "\ufe0f"])
def test_a_user_with_nothing_to_see_has_no_memory(blank: str) -> None:
    with pytest.raises(InvalidInputError, match=r"needs 'user_id', and the run has nothing"):
        resolved("user-{user_id}", user_id=blank)


@pytest.mark.parametrize("missing", [{}, {"user_id": None}, {"user_id": ""}])
def test_a_missing_user_has_no_memory(missing: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match=r"needs 'user_id', and the run has nothing"):
        resolved(USERS, **missing)
    with pytest.raises(InvalidInputError, match="needs 'user_id'"):
        namespace_resolver(USERS)()


@pytest.mark.parametrize("value", [True, ["calvin"], {"id": 1}, 1.5, " "])
def test_a_value_that_names_no_user_is_refused(value: Any) -> None:
    with pytest.raises(InvalidInputError):
        resolved(USERS, user_id=value)


@pytest.mark.parametrize(
    "label", ["{", "}", "{}", "{0}", "{a.b}", "{a[b]}", "{a!r}", "{a:>9}", "{__class__}"]
)
def test_a_template_that_is_more_than_names_is_refused(label: str) -> None:
    with pytest.raises(InvalidInputError, match="namespace label"):
        namespace_resolver(("users", label))


def test_a_function_reads_the_runtime_and_fails_without_a_user() -> None:
    def of(runtime: Runtime[Context]) -> tuple[str, str]:
        return "users", str(runtime.context.user_id)

    assert resolved_in_a_graph(of, Context("calvin")) == ("users", "calvin")
    with pytest.raises(InvalidInputError, match="namespace function failed with AttributeError"):
        namespace_resolver(lambda runtime: ("users", runtime.context.user_id))()
    with pytest.raises(InvalidInputError, match="labels are strings"):
        namespace_resolver(lambda _: ("users", None))()  # type: ignore[arg-type,return-value]
