"""Asking systems the questions of a dataset, and a reader for the answers.

Answers are kept as they come, so that a run can be interrupted and taken up again.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from typing import TypeAlias

from amem_integrations import __version__
from amem_integrations.core.values import estimate_tokens
from amem_integrations.errors import AMemError, AnalysisError, InvalidInputError
from amem_integrations.evaluation.dataset import Conversation, Dataset, Question
from amem_integrations.evaluation.qa.model import LIMIT, LimitedModel, LineStore, fingerprint
from amem_integrations.evaluation.qa.readers import RULES, ModelReader, Reader, gold_of
from amem_integrations.evaluation.qa.system import Answer, Budget, Evidence, Factory, Means, System

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with what is being done, and how many of all answers there are."""

# No other question would fare better.
_HOPELESS = ("unauthorized", "forbidden", "not-found", "quota")
_ANSWER_TOKENS = 20
_PROMPT_TOKENS = estimate_tokens(RULES) + 120


@dataclass(frozen=True, slots=True)
class Asked:
    """A run, or as much of it as a limit let through; missing: how many answers it left out."""

    answers: tuple[Answer, ...]
    missing: int


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a system is expected to ask of the model."""

    system: str
    calls: int
    tokens_in: int
    tokens_out: int


def scorable(dataset: Dataset) -> list[tuple[Conversation, Question]]:
    """Return the questions whose answer is known. Raises InvalidInputError if there is none."""
    found = [asked for asked in dataset.asked if gold_of(asked[1])]
    if not found:
        raise InvalidInputError(
            'No question of this file says what answers it; "answer" is the field for that.'
        )
    return found


class Run:
    """One dataset, one reader, one model; systems by name.

    model: what systems and reader ask, or None. concurrency: how many questions are answered
    side by side.
    """

    def __init__(
        self,
        means: Means,
        reader: Reader,
        kept: LineStore,
        *,
        model: LimitedModel | None = None,
        concurrency: int = 1,
    ) -> None:
        self._means = means
        self._reader = reader
        self._kept = kept
        self._model = model
        self._concurrency = concurrency
        self._asked = scorable(means.dataset)
        self._places: dict[str, list[int]] = {}
        for place, (conversation, _) in enumerate(self._asked):
            self._places.setdefault(conversation.id, []).append(place)

    def ask(
        self,
        systems: Mapping[str, Factory],
        budgets: Sequence[Budget],
        progress: Progress | None = None,
    ) -> Asked:
        """Answer every question that is not answered yet, with every system and budget.

        Stops in good order at a limit of the model. What fails by an error of the package is
        marked, and tried again by the next run; if no question would fare better, such as with a
        wrong key, the error is raised.
        """
        total = len(systems) * len(budgets) * len(self._asked)
        found: list[Answer] = []
        # Before anything is asked: one may lack something.
        made = {name: make(self._means) for name, make in systems.items()}
        try:
            for name, system in made.items():
                if progress is not None:
                    progress(f"{name}, preparing", len(found), total)
                for answer in self._answers(name, system, budgets):
                    found.append(answer)
                    if progress is not None:
                        progress(name, len(found), total)
        finally:
            for system in made.values():
                system.close()
        order = {name: place for place, name in enumerate(systems)}
        found.sort(key=lambda each: (order[each.system], budgets.index(each.budget), each.place))
        return Asked(tuple(found), total - len(found))

    def forecast(self, systems: Mapping[str, Factory], budgets: Sequence[Budget]) -> list[Forecast]:
        """Estimate what the answers that are not there yet will take, without asking."""
        found: list[Forecast] = []
        for name, make in systems.items():
            system = make(self._means)
            calls = tokens_in = tokens_out = 0
            for budget in budgets:
                for places in self._places.values():
                    left = sum(self._answered(name, budget, place) is None for place in places)
                    if not left:
                        continue
                    cost = system.cost(self._asked[places[0]][0], budget)
                    calls += cost.calls
                    tokens_in += cost.tokens_in
                    tokens_out += cost.tokens_out
                    if isinstance(self._reader, ModelReader):
                        calls += left
                        tokens_in += left * (cost.evidence + _PROMPT_TOKENS)
                        tokens_out += left * _ANSWER_TOKENS
            system.close()
            found.append(Forecast(name, calls, tokens_in, tokens_out))
        return found

    def _answers(self, name: str, system: System, budgets: Sequence[Budget]) -> Iterator[Answer]:
        for places in self._places.values():
            left: list[tuple[Budget, int]] = []
            for budget in budgets:
                for place in places:
                    answer = self._answered(name, budget, place)
                    if answer is None:
                        left.append((budget, place))
                    else:
                        yield answer
            if left and not self._exhausted:
                yield from self._new_answers(name, system, left)

    def _new_answers(
        self, name: str, system: System, left: Sequence[tuple[Budget, int]]
    ) -> Iterator[Answer]:
        """Yield the answers to questions of one conversation, and keep them."""
        try:
            system.prepare(self._asked[left[0][1]][0])
        except AMemError as error:
            if self._marks(error):
                for budget, place in left:
                    failure = f"prepare: {_reason(error)}"
                    yield self._keep(Answer(name, budget, place, "", (), 0, failure))
            return
        pool = ThreadPoolExecutor(self._concurrency, thread_name_prefix="amem-eval")
        try:
            futures: list[Future[Answer | None]] = [
                pool.submit(self._answer, name, system, budget, place) for budget, place in left
            ]
            for future in as_completed(futures):
                answer = future.result()
                if answer is not None:
                    yield self._keep(answer)
        finally:
            pool.shutdown(cancel_futures=True)

    def _answer(self, name: str, system: System, budget: Budget, place: int) -> Answer | None:
        """Return None if a limit was reached."""
        if self._exhausted:
            return None
        conversation, question = self._asked[place]
        evidence = Evidence("")
        try:
            evidence = system.evidence(conversation, question, budget)
            text, failure = self._reader.answer(conversation, question, evidence), None
        except AMemError as error:
            if not self._marks(error):
                return None
            text, failure = "", _reason(error)
        tokens = estimate_tokens(evidence.text)
        return Answer(name, budget, place, text, evidence.turns, tokens, failure)

    def _marks(self, error: AMemError) -> bool:
        """Return whether the error says something about a question, and not only of a limit."""
        if not isinstance(error, AnalysisError):
            return True
        if error.reason in _HOPELESS:
            raise error
        return error.reason != LIMIT and not self._exhausted

    @property
    def _exhausted(self) -> bool:
        return self._model is not None and self._model.exhausted

    def _answered(self, name: str, budget: Budget, place: int) -> Answer | None:
        kept = self._kept.get(self._key(name, budget, place))
        if kept is None or kept["failure"] is not None:
            return None
        return Answer(name, budget, place, kept["text"], tuple(kept["turns"]), kept["tokens"])

    def _keep(self, answer: Answer) -> Answer:
        conversation, question = self._asked[answer.place]
        value = {
            "system": answer.system,
            "conversation": conversation.id,
            "category": question.category,
            "k": answer.budget.k,
            "text": answer.text,
            "turns": answer.turns,
            "tokens": answer.tokens,
            "failure": answer.failure,
        }
        self._kept.put(self._key(answer.system, answer.budget, answer.place), value)
        return answer

    def _key(self, name: str, budget: Budget, place: int) -> str:
        conversation, question = self._asked[place]
        means = self._means
        return fingerprint(
            __version__,
            [means.dataset.digest, conversation.id, conversation.questions.index(question)],
            [name, asdict(budget), self._reader.name],
            [means.embedder.name, None if means.model is None else means.model.name],
        )


def _reason(error: AMemError) -> str:
    return error.reason if isinstance(error, AnalysisError) else type(error).__name__
