"""The REST subset of GitHub, GitLab and Jira that tickets use, kept in memory behind a local HTTP server.

A contract fake: it stores issues, filters by label as the real service documents it, and refuses a wrong token.
"""

from __future__ import annotations

import base64
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.helpers.serving import Quiet, serving

TOKEN = "s3cret-token-value"


@dataclass
class Store:
    """Issues by number, each a dict with title, body, labels, state, comments, attachments."""

    issues: dict[int, dict[str, Any]] = field(default_factory=dict)
    calls: list[tuple[str, str]] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    labels_allowed: bool = True
    lost: bool = False  # what is filed is kept, but the answer never arrives
    cloud: bool = False  # Jira Cloud: another search, which does not know the newest issue yet
    rival: Callable[[Store], None] | None = None  # called once, before the first issue is created
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, title: str, body: str, labels: list[str]) -> dict[str, Any]:
        """A new issue."""
        if self.rival:
            rival, self.rival = self.rival, None
            rival(self)
        number = len(self.issues) + 1
        kept = labels if self.labels_allowed else []
        self.issues[number] = {
            "number": number,
            "title": title,
            "body": body,
            "labels": kept,
            "state": "open",
            "comments": [],
            "attachments": {},
        }
        return self.issues[number]

    def labelled(self, label: str) -> list[dict[str, Any]]:
        """Issues that carry a label."""
        return [i for i in self.issues.values() if label in i["labels"]]


Answer = tuple[int, Any]
Handler = Callable[[Store, str, str, dict[str, list[str]], Any], Answer]


def github(store: Store, method: str, path: str, query: dict[str, list[str]], data: Any) -> Answer:
    def shape(i: dict[str, Any]) -> dict[str, Any]:
        return {"number": i["number"], "title": i["title"], "body": i["body"], "state": i["state"], "url": f"{base}/repos/o/r/issues/{i['number']}",
                "labels": [{"name": x} for x in i["labels"]], "html_url": f"http://x/{i['number']}"}  # fmt: skip

    base = query["_base"][0]
    if path == "/repos/o/r/issues" and method == "GET":
        assert query["state"] == ["all"]
        return 200, [shape(i) for i in store.labelled(query["labels"][0])]
    if path == "/repos/o/r/issues" and method == "POST":
        return 201, shape(store.add(data["title"], data["body"], data["labels"]))
    if m := re.fullmatch(r"/repos/o/r/issues/(\d+)", path):
        issue = store.issues[int(m[1])]
        if method == "PATCH":
            issue.update({k: v for k, v in data.items() if k in ("title", "body", "state", "labels")})
        return 200, shape(issue)
    if m := re.fullmatch(r"/repos/o/r/issues/(\d+)/comments", path):
        said = store.issues[int(m[1])]["comments"]
        if method == "GET":
            return 200, [{"id": n, "body": text, "url": f"{base}/c/{m[1]}/{n}"} for n, text in enumerate(said)]
        said.append(data["body"])
        return 201, {"id": len(said) - 1, "body": data["body"], "url": f"{base}/c/{m[1]}/{len(said) - 1}"}
    if (m := re.fullmatch(r"/c/(\d+)/(\d+)", path)) and method == "PATCH":
        store.issues[int(m[1])]["comments"][int(m[2])] = data["body"]
        return 200, {"id": int(m[2]), "body": data["body"], "url": f"{base}{path}"}
    return 404, {"message": "Not Found"}


def gitlab(store: Store, method: str, path: str, query: dict[str, list[str]], data: Any) -> Answer:
    def shape(i: dict[str, Any]) -> dict[str, Any]:
        return {"id": 1000 + i["number"], "iid": i["number"], "project_id": 7, "title": i["title"], "description": i["body"],
                "labels": i["labels"], "state": i["state"]}  # fmt: skip

    if path == "/api/v4/projects/g%2Fp/issues" and method == "GET":
        assert query.get("state") == ["all"]
        return 200, [shape(i) for i in store.labelled((query.get("labels") or query["labels[]"])[0])]
    if path == "/api/v4/projects/g%2Fp/issues" and method == "POST":
        return 201, shape(store.add(data["title"], data["description"], data["labels"].split(",")))
    if m := re.fullmatch(r"/api/v4/projects/g%2Fp/issues/(\d+)", path):
        issue = store.issues[int(m[1])]
        if method == "PUT":
            issue["title"], issue["body"] = data.get("title", issue["title"]), data.get("description", issue["body"])
            if "labels" in data:
                issue["labels"] = data["labels"].split(",")
            if data.get("state_event") == "close":
                issue["state"] = "closed"
        return 200, shape(issue)
    if m := re.fullmatch(r"/api/v4/projects/g%2Fp/issues/(\d+)/notes", path):
        store.issues[int(m[1])]["comments"].append(data["body"])
        return 201, {"id": 1, "body": data["body"]}
    if m := re.fullmatch(r"/api/v4/projects/g%2Fp/merge_requests/(\d+)/notes(?:/(\d+))?", path):
        said = store.issues[int(m[1])]["comments"]
        if method == "GET":
            return 200, [{"id": n, "body": text} for n, text in enumerate(said)]
        if method == "PUT":
            said[int(m[2])] = data["body"]
        else:
            said.append(data["body"])
        return 200 if method == "PUT" else 201, {"id": int(m[2] or len(said) - 1), "body": data["body"]}
    return 404, {"message": "404 Not Found"}


def jira(store: Store, method: str, path: str, query: dict[str, list[str]], data: Any) -> Answer:
    base = query["_base"][0]

    def shape(i: dict[str, Any]) -> dict[str, Any]:
        files = [
            {
                "id": f"{i['number']}-{name}",
                "filename": name,
                "self": f"{base}/rest/api/2/attachment/{i['number']}-{name}",
            }
            for name in i["attachments"]
        ]
        return {"id": str(i["number"]), "key": f"GPU-{i['number']}", "self": f"{base}/rest/api/2/issue/{i['number']}",
                "fields": {"summary": i["title"], "description": i["body"], "labels": i["labels"], "attachment": files}}  # fmt: skip

    if path.endswith("/serverInfo"):
        return 200, {
            "versionNumbers": [9, 12, 0],
            "deploymentType": "Cloud" if store.cloud else "Server",
            "version": "9.12.0",
        }
    if path == "/rest/api/2/field":
        return 200, []
    if path == ("/rest/api/2/search/jql" if store.cloud else "/rest/api/2/search"):
        jql = (query.get("jql") or [data and data.get("jql")])[0]
        label = re.fullmatch(r'project = "GPU" AND labels = "(triage-[0-9a-f]{16})"', jql)
        assert label, jql
        found = [shape(i) for i in store.labelled(label[1]) if not store.cloud or i["number"] < len(store.issues)]
        if store.cloud:
            return 200, {"issues": found, "isLast": True}
        return 200, {"startAt": 0, "maxResults": 50, "total": len(found), "issues": found}
    if path == "/rest/api/2/issue" and method == "POST":
        f = data["fields"]
        assert len(f["description"]) <= 32_767
        return 201, shape(store.add(f["summary"], f["description"], f["labels"]))
    if m := re.fullmatch(r"/rest/api/2/issue/(?:GPU-)?(\d+)", path):
        issue = store.issues[int(m[1])]
        if method == "PUT":
            f = data["fields"]
            issue["title"], issue["body"], issue["labels"] = (
                f.get("summary", issue["title"]),
                f.get("description", issue["body"]),
                f.get("labels", issue["labels"]),
            )
            return 204, None
        return 200, shape(issue)
    if m := re.fullmatch(r"/rest/api/2/issue/(?:GPU-)?(\d+)/comment", path):
        store.issues[int(m[1])]["comments"].append(data["body"])
        return 201, {"id": "1", "body": data["body"], "self": f"{base}/c/1"}
    if m := re.fullmatch(r"/rest/api/2/issue/(?:GPU-)?(\d+)/attachments", path):
        name = re.search(rb'filename="([^"]+)"', data)[1].decode()  # type: ignore[index]
        files = store.issues[int(m[1])]["attachments"]
        assert name not in files, "the old attachment was not removed"
        files[name] = len(data)
        size = data.split(b"\r\n\r\n", 1)[1].rindex(b"\r\n--")  # of the one part of the form
        return 200, [{"id": "1", "filename": name, "size": size, "self": f"{base}/a/1"}]
    if (m := re.fullmatch(r"/rest/api/2/attachment/(\d+)-(.+)", path)) and method == "DELETE":
        del store.issues[int(m[1])]["attachments"][m[2]]
        return 204, None
    return 404, {"errorMessages": [f"no {method} {path}"]}


def redmine(store: Store, method: str, path: str, query: dict[str, list[str]], data: Any) -> Answer:
    def shape(i: dict[str, Any]) -> dict[str, Any]:
        files = [{"id": n, "filename": name} for n, name in enumerate(i["attachments"], 100 * i["number"])]
        return {"id": i["number"], "subject": i["title"], "description": i["body"], "attachments": files}

    if path == "/issues.json" and method == "GET":
        assert query["status_id"] == ["*"]
        mark = query["subject"][0].removeprefix("~")
        found = [shape(i) for i in store.issues.values() if mark in i["title"]]
        return 200, {"issues": found, "total_count": len(found), "offset": 0, "limit": 100}
    if path == "/projects/frames/issues.json" and method == "POST":
        f = data["issue"]
        assert len(f["subject"]) <= 255
        return 201, {"issue": shape(store.add(f["subject"], f["description"], []))}
    if path == "/uploads.json":
        return 201, {"upload": {"token": "t", "id": 1}}
    if path == "/issue_statuses.json":
        return 200, {
            "issue_statuses": [
                {"id": 1, "name": "New", "is_closed": False},
                {"id": 5, "name": "Closed", "is_closed": True},
            ]
        }
    if m := re.fullmatch(r"/issues/(\d+)\.json", path):
        issue = store.issues[int(m[1])]
        if method == "PUT":
            f = data["issue"]
            issue["title"], issue["body"] = f.get("subject", issue["title"]), f.get("description", issue["body"])
            issue["state"] = "closed" if f.get("status_id") == 5 else issue["state"]
            if "notes" in f:
                issue["comments"].append(f["notes"])
            for upload in f.get("uploads", []):
                issue["attachments"][upload["filename"]] = 1
            return 204, None
        return 200, {"issue": shape(issue)}
    if re.fullmatch(r"/attachments/\d+\.json", path):
        return 204, None
    return 404, None


FAKES: dict[str, Handler] = {"github": github, "gitlab": gitlab, "jira": jira, "redmine": redmine}


@contextmanager
def serve(name: str) -> Iterator[tuple[str, Store]]:
    """(address, store) of a fake that listens on a free local port."""
    store, fake = Store(), FAKES[name]

    class Face(Quiet):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            raw = self.rfile.read(length) if length else b""
            url = urlsplit(self.path)
            query = {**parse_qs(url.query), "_base": [f"http://{self.headers['Host']}"]}
            given = (
                self.headers.get("Authorization", "")
                + self.headers.get("PRIVATE-TOKEN", "")
                + self.headers.get("X-Redmine-API-Key", "")
            )
            json_body = "json" in (self.headers.get("Content-Type") or "")
            with store.lock:
                store.tokens.append(given)
                if TOKEN not in given and base64.b64encode(f"me@example.org:{TOKEN}".encode()).decode() not in given:
                    status, out = 401, {"message": "bad credentials", "errorMessages": ["bad credentials"]}
                else:
                    store.calls.append((self.command, url.path))
                    status, out = fake(
                        store, self.command, url.path, query, json.loads(raw) if raw and json_body else raw
                    )
            if store.lost and self.command == "POST":
                self.close_connection = True
                return
            body = b"" if out is None else json.dumps(out).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

    with serving(Face) as address:
        yield address, store
