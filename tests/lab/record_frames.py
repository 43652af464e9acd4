"""Records what the lab's API server sends, for tests/data/kube/server (its README tells what).

Usage: python3 tests/lab/record_frames.py FOLDER
"""

import os
import sys
import threading

import lab as labs

KINDS = {
    "pods": "/api/v1/pods",
    "endpointslices": "/apis/discovery.k8s.io/v1/endpointslices",
    "nodes": "/api/v1/nodes",
}
PROTOBUF = "application/vnd.kubernetes.protobuf"
WATCH_SECONDS = 12  # the server ends the watch then; a roll of two pods takes less


def main(folder):
    def save(name, body):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(body)

    with labs.Lab(addresses=3) as lab:
        lab.create_workload(2)
        api = lab.servers.api
        watches = [
            threading.Thread(target=lambda k=kind, p=path: save(f"{k}.watch.pb", watch(api, p)))
            for kind, path in KINDS.items()
        ]
        for thread in watches:
            thread.start()
        lab.begin_roll()
        lab.wait_for_roll(2)
        for thread in watches:
            thread.join()
        for kind, path in KINDS.items():
            save(f"{kind}.list.pb", api.raw(path, PROTOBUF))
            save(f"{kind}.list.json", api.raw(path, "application/json"))
        lab.servers.stop_server()  # The next one knows of nothing before its start.
        lab.servers.start_server()
        expired = f"{KINDS['pods']}?watch=1&resourceVersion=1&timeoutSeconds={WATCH_SECONDS}"
        save("pods.expired.watch.pb", api.raw(expired, PROTOBUF + ";stream=watch"))


def watch(api, path):
    query = "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    query += f"&allowWatchBookmarks=true&timeoutSeconds={WATCH_SECONDS}"
    return api.raw(path + query, PROTOBUF + ";stream=watch")


if __name__ == "__main__":
    main(sys.argv[1])
