"""A game with a leaderboard: ``pip install "flask-leaderboard[embedded]"``, then ``flask --app examples/minimal.py run``.

curl -X POST localhost:5000/match/mary1934/won
curl localhost:5000/v1/scores
"""

from flask import Flask
from flask.typing import ResponseReturnValue

from flask_leaderboard import AllTime, Board, Daily, Leaderboards, Weekly

app = Flask(__name__)
app.config["LEADERBOARD_TOKENS"] = {"submit": ["s3cret"]}
leaderboards = Leaderboards(app, boards=[Board("arena", windows=[Weekly(), Daily(tz="Europe/Amsterdam"), AllTime()])])


@app.post("/match/<player>/won")
def won(player: str) -> ResponseReturnValue:
    receipt = leaderboards["arena"].submit(player, 10)
    return {"rank": receipt["weekly"].new_rank}
