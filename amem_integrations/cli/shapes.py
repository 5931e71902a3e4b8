"""What `--json` prints: notes, links, revisions and hits as JSON has them.

The one place that says so; the guide to the command line describes it. Only ASCII is printed:
whatever else a text holds is escaped, so that it can neither steer a terminal nor break a pipe.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from amem_integrations.core.note import Hit, Link, Note, Revision
from amem_integrations.lifecycle.audits import Audit
from amem_integrations.revisions.proposals import Proposal


def note_shape(note: Note, revisions: Sequence[Revision] | None = None) -> dict[str, Any]:
    """A note with its links in both directions, and its revisions where they are given."""
    shape: dict[str, Any] = {
        "id": note.id,
        "key": note.key,
        "namespace": list(note.namespace),
        "content": note.content,
        "keywords": list(note.keywords),
        "tags": list(note.tags),
        "context": note.context,
        "speaker": note.speaker,
        "session": note.session,
        "sequence": note.sequence,
        "source": note.source,
        "occurred_at": note.occurred_at,
        "created_at": note.created_at,
        "updated_at": note.updated_at,
        "metadata": note.metadata,
        "value": note.value,
        "status": str(note.status),
        "last_error": note.last_error,
        "version": note.version,
        "tier": str(note.tier),
        "confidence": note.confidence,
        "valid_until": note.valid_until,
        "contested_by": list(note.contested_by),
        "merged_into": note.merged_into,
        "links": [link_shape(link) for link in note.links],
    }
    if revisions is not None:
        shape["revisions"] = [revision_shape(revision) for revision in revisions]
    return shape


def link_shape(link: Link) -> dict[str, Any]:
    return {
        "source": link.source,
        "to": link.to,
        "kind": link.kind,
        "reason": link.reason,
        "weight": link.weight,
        "created_at": link.created_at,
    }


def revision_shape(revision: Revision) -> dict[str, Any]:
    return {
        "version": revision.version,
        "kind": revision.kind,
        "cause": revision.cause,
        "at": revision.at,
        "analyst": revision.analyst,
        "reason": revision.reason,
        "changes": {
            name: {"before": change.before, "after": change.after}
            for name, change in revision.changes.items()
        },
        "sources": list(revision.sources),
    }


def hit_shape(hit: Hit) -> dict[str, Any]:
    return {
        "score": hit.score,
        "relevance": hit.relevance,
        "why": dict(hit.why),
        "via": None if hit.via is None else link_shape(hit.via),
        "note": note_shape(hit.note),
    }


def proposal_shape(proposal: Proposal) -> dict[str, Any]:
    return {"id": proposal.id, **asdict(proposal)}


def audit_shape(audit: Audit) -> dict[str, Any]:
    return json.loads(audit.as_json())
