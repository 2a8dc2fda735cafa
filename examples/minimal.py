"""A leaderboard in a dozen lines, on fakeredis: ``pip install "flask-leaderboard[test]"`` and run this file."""

from fakeredis import FakeRedis

from flask_leaderboard import AllTime, Board, Daily, Leaderboard, Submission

arena = Leaderboard(Board("arena", windows=[AllTime(), Daily(tz="Europe/Amsterdam")]), FakeRedis())

arena.submit_many([Submission("bob", 12), Submission("ann", 12), Submission("mary1934", 7)])
receipt = arena.submit("mary1934", 10, submission_id="match-789")
change = receipt["daily"]
print(f"mary1934 went from rank {change.old_rank} to rank {change.new_rank}")

for entry in arena.top(10, window="daily").entries:
    print(entry.rank, entry.user_id, entry.score)
