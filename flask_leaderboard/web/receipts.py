"""Receipts as JSON. Written straight as text: by way of dictionaries it takes more than twice as long, for each submission."""

from __future__ import annotations

from functools import lru_cache

from ..rules.results import Change, Receipt
from ..rules.scores import Number
from .bodies import json_text

_FLAGS = {False: "false", True: "true"}


def write_receipt(board_name: str, receipt: Receipt) -> str:
    """Write the receipt of a board's submission."""
    changes = ",".join([_change(change) for change in receipt.changes])
    return (
        f'{{"board":{json_text(board_name)},"user_id":{json_text(receipt.user_id)}'
        f',"duplicate":{_FLAGS[receipt.duplicate]},"pending":{_FLAGS[receipt.pending]},"number":{_number(receipt.number)}'
        f',"changes":[{changes}],"closed":{_names(receipt.closed)}}}'
    )


def _change(change: Change) -> str:
    window, period, segment, old_score, new_score, old_rank, new_rank = change
    return (
        f'{{{_place(window, period, segment)},"old_score":{_number(old_score)},"new_score":{_number(new_score)}'
        f',"old_rank":{_number(old_rank)},"new_rank":{_number(new_rank)},"changed":{_FLAGS[change.changed]}}}'
    )


@lru_cache(maxsize=1024)
def _place(window: str, period: str, segment: str | None) -> str:
    return f'"window":{json_text(window)},"period":{json_text(period)},"segment":{json_text(segment)}'


@lru_cache(maxsize=64)
def _names(windows: tuple[str, ...]) -> str:
    return json_text(windows)


def _number(value: Number | None) -> str:
    return "null" if value is None else repr(value)
