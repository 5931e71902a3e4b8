"""What `--json` prints: notes, links, revisions and hits as JSON has them.

The one place that says so; the guide to the command line describes it. Only ASCII is printed:
whatever else a text holds is escaped, so that it can neither steer a terminal nor break a pipe.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from amem_integrations.core.note import Hit, Note, Revision
from amem_integrations.lifecycle.audits import Audit
from amem_integrations.revisions.proposals import Proposal
from amem_integrations.stores.codec import TEXT


def note_shape(note: Note, revisions: Sequence[Revision] | None = None) -> dict[str, Any]:
    """A note with its links in both directions, and its revisions where they are given."""
    shape = TEXT.write_fields(note)
    del shape["life"], shape["revision"]
    if revisions is not None:
        shape["revisions"] = [TEXT.write_fields(revision) for revision in revisions]
    return shape


def hit_shape(hit: Hit) -> dict[str, Any]:
    return {
        "score": hit.score,
        "relevance": hit.relevance,
        "why": dict(hit.why),
        "via": None if hit.via is None else TEXT.write_fields(hit.via),
        "note": note_shape(hit.note),
    }


def proposal_shape(proposal: Proposal) -> dict[str, Any]:
    return {"id": proposal.id, **asdict(proposal)}


def audit_shape(audit: Audit) -> dict[str, Any]:
    return json.loads(audit.as_json())
