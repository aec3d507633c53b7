"""Drives the simulated DigitalOcean with the official Python client, and checks the results.

Each step prints a line. The last lines are the numbers of steps that passed and failed.
"""

import os
import time

from azure.core.exceptions import HttpResponseError
from azure.core.pipeline.policies import HeadersPolicy
from pydo import Client
from steps import run_all, step


class OverLoopback(HeadersPolicy):
    """The client sends tokens without TLS only if it is told to."""

    def on_request(self, request):
        request.context["enforce_https"] = False
        super().on_request(request)


def connect(token, endpoint=os.environ["FAIRLEAD_ENDPOINT"], **options):
    return Client(token=token, endpoint=endpoint, headers_policy=OverLoopback(), **options)


client = connect(os.environ["FAIRLEAD_TOKEN"])


class World:
    """What earlier steps created."""


world = World()


def equal(actual, expected):
    assert actual == expected, f"expected {expected!r}, got {actual!r}"


def refuses(status, message, request):
    """Some operations declare 404 as an answer, and return it."""
    try:
        answer = request()
    except HttpResponseError as error:
        equal(error.status_code, status)
        assert message in str(error), f"expected {message!r} in {error}"
        return
    assert status in (401, 404, 429) and message in str(answer), f"expected {status} with {message!r}, got {answer}"


def until(what, request):
    end = time.monotonic() + 20
    while time.monotonic() < end:
        found = request()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"timed out waiting for {what}")


def when_free(request):
    """Repeats a change while the load balancer processes another."""

    def attempt():
        try:
            return request() or True
        except HttpResponseError as error:
            if error.status_code != 403:
                raise
            return None

    return until("the load balancer to accept a change", attempt)


@step
def reads_regions_and_the_account():
    assert "nyc3" in [region["slug"] for region in client.regions.list()["regions"]]
    equal(client.account.get()["account"]["status"], "active")


@step
def creates_a_vpc():
    world.vpc = client.vpcs.create({"name": "py-vpc", "region": "nyc3"})["vpc"]["id"]
    equal(client.vpcs.update(world.vpc, {"name": "py-renamed"})["vpc"]["name"], "py-renamed")
    equal(client.vpcs.patch(world.vpc, {"description": "clients"})["vpc"]["name"], "py-renamed")
    equal(client.vpcs.get(world.vpc)["vpc"]["description"], "clients")
    assert world.vpc in [vpc["id"] for vpc in client.vpcs.list()["vpcs"]]


def droplet(name, **changes):
    base = {"name": name, "region": "nyc3", "size": "s-1vcpu-2gb", "image": "ubuntu-24-04-x64"}
    return client.droplets.create({**base, "vpc_uuid": world.vpc, **changes})["droplet"]["id"]


def started(droplet_id):
    def ready():
        found = client.droplets.get(droplet_id)["droplet"]
        return found if found["status"] == "active" else None

    return until("the droplet to start", ready)


@step
def creates_droplets():
    world.one, world.two = droplet("py-1", tags=["py"], ipv6=True), droplet("py-2", public_networking=False)
    one, two = started(world.one), started(world.two)
    equal([net["type"] for net in one["networks"]["v4"]], ["public", "private"])
    equal([net["type"] for net in two["networks"]["v4"]], ["private"])
    equal((one["size_slug"], one["region"]["slug"], len(one["networks"]["v6"])), ("s-1vcpu-2gb", "nyc3", 1))
    equal([each["id"] for each in client.droplets.list(name="py-2")["droplets"]], [world.two])
    equal(len(client.vpcs.list_members(world.vpc)["members"]), 2)
    refuses(404, "could not be found", lambda: client.droplets.get(7))


@step
def switches_droplets_off_and_on():
    for action, status in [("power_off", "off"), ("power_on", "active")]:
        client.droplet_actions.post(world.one, {"type": action})
        equal(client.droplets.get(world.one)["droplet"]["status"], status)


@step
def reads_all_pages():
    for number in range(45):
        droplet(f"py-many-{number}", tags=["py-many"])
    pages = [client.droplets.list(tag_name="py-many", per_page=20, page=page) for page in (1, 2, 3)]
    equal([len(page["droplets"]) for page in pages], [20, 20, 5])
    equal([page["meta"]["total"] for page in pages], [45, 45, 45])
    assert "page=2" in pages[0]["links"]["pages"]["next"]
    assert "next" not in pages[2]["links"]["pages"]
    client.droplets.destroy_by_tag(tag_name="py-many")
    equal(client.droplets.list(tag_name="py-many")["droplets"], [])


@step
def tags_resources():
    client.tags.create({"name": "k8s:py"})
    resources = {"resources": [{"resource_id": str(world.one), "resource_type": "droplet"}]}
    client.tags.assign_resources("k8s:py", resources)
    equal(client.tags.get("k8s:py")["tag"]["resources"]["droplets"]["count"], 1)
    client.tags.unassign_resources("k8s:py", resources)
    equal(client.droplets.get(world.one)["droplet"]["tags"], ["py"])
    assert "k8s:py" in [tag["name"] for tag in client.tags.list()["tags"]]
    refuses(404, "could not be found", lambda: client.tags.get("no-such-tag"))


@step
def creates_certificates():
    uploaded = client.certificates.create(
        {
            "name": "py-uploaded",
            "type": "custom",
            "leaf_certificate": os.environ["FAIRLEAD_CERTIFICATE"],
            "private_key": os.environ["FAIRLEAD_KEY"],
        }
    )["certificate"]
    equal(uploaded["state"], "verified")
    request = {"name": "py-le", "type": "lets_encrypt", "dns_names": ["example.com"]}
    equal(client.certificates.create(request)["certificate"]["state"], "pending")

    def issued():
        [found] = client.certificates.list(name="py-le")["certificates"]
        return found["id"] if found["state"] == "verified" else None

    world.certificate = until("the certificate to be issued", issued)
    equal(client.certificates.get(world.certificate)["certificate"]["dns_names"], ["example.com"])
    client.certificates.delete(uploaded["id"])


@step
def changes_firewalls():
    anywhere = {"addresses": ["0.0.0.0/0"]}
    inbound = [{"protocol": "tcp", "ports": "30000-32767", "sources": anywhere}]
    outbound = [{"protocol": "tcp", "ports": "all", "destinations": anywhere}]
    request = {"name": "py-firewall", "inbound_rules": inbound, "outbound_rules": outbound, "tags": ["py"]}
    created = client.firewalls.create(request)["firewall"]
    equal(created["outbound_rules"][0]["ports"], "0")
    client.firewalls.assign_droplets(created["id"], {"droplet_ids": [world.one]})
    more = {"inbound_rules": [{"protocol": "icmp", "sources": anywhere}]}
    client.firewalls.add_rules(created["id"], more)
    client.firewalls.delete_tags(created["id"], {"tags": ["py"]})
    changed = client.firewalls.get(created["id"])["firewall"]
    equal((changed["droplet_ids"], len(changed["inbound_rules"]), changed["tags"]), ([world.one], 2, []))
    client.firewalls.delete_rules(created["id"], more)
    client.firewalls.add_tags(created["id"], {"tags": ["py"]})
    client.firewalls.delete_droplets(created["id"], {"droplet_ids": [world.one]})
    equal(client.firewalls.update(created["id"], request)["firewall"]["tags"], ["py"])
    assert created["id"] in [each["id"] for each in client.firewalls.list()["firewalls"]]
    client.firewalls.delete(created["id"])


@step
def attaches_volumes():
    request = {"name": "py-volume", "region": "nyc3", "size_gigabytes": 10, "tags": ["k8s:py"]}
    volume = client.volumes.create(request)["volume"]["id"]
    refuses(409, "already exists", lambda: client.volumes.create(request))
    equal([each["id"] for each in client.volumes.list(name="py-volume")["volumes"]], [volume])

    def act(**body):
        action = client.volume_actions.post_by_id(volume, {"region": "nyc3", **body})["action"]["id"]
        ended = lambda: client.volume_actions.get(volume, action)["action"]["status"] == "completed"
        until("the action of the volume", lambda: ended() or None)
        return client.volumes.get(volume)["volume"]

    equal(act(type="attach", droplet_id=world.one)["droplet_ids"], [world.one])
    refuses(409, "attached", lambda: client.volumes.delete(volume))
    equal(act(type="resize", size_gigabytes=20)["size_gigabytes"], 20)
    equal(act(type="detach", droplet_id=world.one)["droplet_ids"], [])
    client.volumes.delete(volume)
    refuses(404, "could not be found", lambda: client.volumes.get(volume))


def rule(port):
    ports = {"entry_port": port, "target_port": 30_000 + port}
    return {"entry_protocol": "http", "target_protocol": "http", **ports}


def balancer(name, **changes):
    base = {"name": name, "region": "nyc3", "forwarding_rules": [rule(80)], "vpc_uuid": world.vpc}
    return {**base, "droplet_ids": [world.one], **changes}


@step
def creates_a_load_balancer():
    created = client.load_balancers.create(balancer("py-lb", tags=["k8s:py"]))["load_balancer"]
    equal((created["status"], created["ip"]), ("new", ""))
    world.balancer = created["id"]

    def active():
        found = client.load_balancers.get(world.balancer)["load_balancer"]
        return found if found["status"] == "active" else None

    found = until("the load balancer to be active", active)
    assert found["ip"] != ""
    equal((found["type"], found["network_stack"], found["tags"]), ("REGIONAL", "IPV4", ["k8s:py"]))
    assert world.balancer in [each["id"] for each in client.load_balancers.list()["load_balancers"]]
    refuses(422, "name is not unique", lambda: client.load_balancers.create(balancer("py-lb")))


@step
def replaces_a_load_balancer():
    https = {**rule(443), "entry_protocol": "https", "certificate_id": world.certificate}
    cookies = {"type": "cookies", "cookie_name": "session", "cookie_ttl_seconds": 300}
    wanted = balancer("py-renamed", forwarding_rules=[rule(80), https], sticky_sessions=cookies, size_unit=2)
    replaced = client.load_balancers.update(world.balancer, wanted)["load_balancer"]
    equal((replaced["name"], replaced["size_unit"], replaced["sticky_sessions"]), ("py-renamed", 2, cookies))
    refuses(403, "processes previous actions", lambda: client.load_balancers.update(world.balancer, wanted))
    wanted = balancer("py-renamed", forwarding_rules=[https])
    replaced = when_free(lambda: client.load_balancers.update(world.balancer, wanted))["load_balancer"]
    equal((replaced["size_unit"], replaced["sticky_sessions"]["type"]), (1, "none"))


@step
def changes_droplets_and_rules_of_a_load_balancer():
    change = client.load_balancers
    when_free(lambda: change.add_droplets(world.balancer, {"droplet_ids": [world.two]}))
    when_free(lambda: change.remove_droplets(world.balancer, {"droplet_ids": [world.one]}))
    when_free(lambda: change.add_forwarding_rules(world.balancer, {"forwarding_rules": [rule(81)]}))
    when_free(lambda: change.remove_forwarding_rules(world.balancer, {"forwarding_rules": [rule(81)]}))
    found = change.get(world.balancer)["load_balancer"]
    equal((found["droplet_ids"], [each["entry_port"] for each in found["forwarding_rules"]]), ([world.two], [443]))


@step
def deletes_everything():
    refuses(403, "not in use", lambda: client.certificates.delete(world.certificate))
    client.load_balancers.delete(world.balancer)
    refuses(404, "could not be found", lambda: client.load_balancers.get(world.balancer))
    client.certificates.delete(world.certificate)
    refuses(403, "members", lambda: client.vpcs.delete(world.vpc))
    for each in (world.one, world.two):
        client.droplets.destroy(each)
    client.vpcs.delete(world.vpc)
    client.tags.delete("k8s:py")


@step
def rejects_other_tokens():
    refuses(401, "Unable to authenticate you", lambda: connect("no-such-token").account.get())
    viewer = connect(os.environ["FAIRLEAD_READONLY_TOKEN"])
    equal(viewer.account.get()["account"]["status"], "active")
    refuses(403, "", lambda: viewer.tags.create({"name": "no"}))


@step
def reports_the_rate_limit():
    limited = connect("any", os.environ["FAIRLEAD_LIMITED_ENDPOINT"], retry_total=0)
    seen = []

    def remember(response):
        seen.append(response.http_response.headers["ratelimit-remaining"])

    for _ in range(3):
        limited.account.get(raw_response_hook=remember)
    refuses(429, "rate limit", lambda: limited.account.get(raw_response_hook=remember))
    equal(seen, ["2", "1", "0", "0"])


run_all("pydo")
