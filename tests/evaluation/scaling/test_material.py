"""Made-up notes: the same for the same seed, in talks, linked backwards."""

from amem_integrations.evaluation.scaling.material import batches, one, questions


def test_the_same_seed_makes_the_same_notes() -> None:
    first, again = (list(batches(3, seed=4, dimension=8)) for _ in range(2))
    assert first == again
    assert first != list(batches(3, seed=5, dimension=8))
    assert questions(2, seed=4, dimension=8) == questions(2, seed=4, dimension=8)


def test_links_lead_to_earlier_notes() -> None:
    made = [each for batch in batches(60, dimension=4) for each in batch]
    assert len(made) == 60
    assert all(0 <= to < each.number for each in made for to in each.links)
    assert sum(len(each.links) for each in made) > 90


def test_notes_come_in_batches_and_in_the_order_of_their_times() -> None:
    found = list(batches(501, dimension=2))
    assert [len(batch) for batch in found] == [500, 1]
    times = [each.at for batch in found for each in batch]
    assert times == sorted(times)


def test_one_more_is_unlike_the_others() -> None:
    texts = {each.text for batch in batches(30, dimension=2) for each in batch}
    assert one(30, dimension=2).text not in texts
    assert one(30, dimension=2) == one(30, dimension=2)
