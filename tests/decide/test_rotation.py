"""Turns that are remembered are the turns that would have been reckoned."""

from hypothesis import given, settings
from hypothesis import strategies as st

from fairturn.decide.rotation import SHORT, Member, Rotation, Sharing


def reckoned(rotation: Rotation, sharing: Sharing, among: tuple[int, ...]) -> str:
    rotation.accrue(sharing)
    place = rotation.choice(among)
    rotation.pay(place)
    return sharing.reps[place]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.integers(1, SHORT // 5), min_size=1, max_size=6), st.data())
def test_what_is_remembered_is_what_would_be_reckoned(weights, data):
    """Around the limit of what is remembered; filters come and go, and so do members."""
    members = [Member(f"r{place}", weight, place) for place, weight in enumerate(weights)]
    more = data.draw(st.lists(st.integers(1, SHORT // 5), min_size=len(weights), max_size=len(weights)))
    others = [Member(member.rep, weight, member.position) for member, weight in zip(members, more, strict=True)]
    sets = [Sharing.of(members), Sharing.of(others), Sharing.of(members[: max(1, len(members) // 2)])]
    reps = [member.rep for member in members]
    quick, plain = Rotation(reps, {}, 0), Rotation(reps, {}, 0)
    for _ in range(data.draw(st.integers(1, 4))):
        sharing = data.draw(st.sampled_from(sets))
        some = data.draw(st.none() | st.sets(st.sampled_from(sharing.reps), min_size=1))
        # After whole rotations every balance is 0 again, whoever shared.
        for _ in range(data.draw(st.integers(1, 60) | st.just(sharing.total))):
            among = sharing.among(some)
            assert quick.turn(sharing, among) == reckoned(plain, sharing, among)
        assert quick.centred() == plain.centred()
    assert quick.balances() == plain.balances()
