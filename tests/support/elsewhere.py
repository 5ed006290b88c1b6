"""A runner whose shards are worked on as if on another machine: all that they are given and give is sent."""

import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from clinaudit.audit.runtime.model import audited_model


class Elsewhere:
    """Runs shards one after the other, each from what was sent."""

    is_here = False

    def map(
        self, function: Callable[..., Any], shared: Any, shards: Iterable[Any], **_resources: object
    ) -> Iterator[Any]:
        sent = pickle.dumps(shared)
        # A worker ends with its shards, and its model with it.
        audited_model._loaded.clear()
        for shard in shards:
            given = pickle.loads(pickle.dumps((sent, shard)))
            yield pickle.loads(pickle.dumps(function(pickle.loads(given[0]), given[1])))
