"""Drives the simulated Rancher with Cattle's own Python client, which builds its methods from the schema of the server.

Each step prints a line. The last lines are the numbers of steps that passed and failed.
"""

import os
import time

import cattle
from steps import run_all, step

endpoint = os.environ["FAIRLEAD_ENDPOINT"]
access, secret = os.environ["FAIRLEAD_ACCESS_KEY"], os.environ["FAIRLEAD_SECRET_KEY"]


def connect(url=endpoint, secret_key=secret, **more):
    return cattle.Client(url=url, access_key=access, secret_key=secret_key, **more)


client = connect()


class World:
    """What earlier steps created."""


world = World()


def refuses(status, code, request, field=None):
    try:
        request()
    except cattle.ApiError as refusal:
        error = refusal.error
        assert error.status == status, f"expected {status}, got {error.status} ({error.code})"
        assert error.code == code, f"expected {code}, got {error.code}"
        assert error.type == "error"
        described = status != 422 or code in ("PortInvalidProtocol", "PortWrongFormat")
        assert (error.message is not None) == described, error.message
        if field is not None:
            assert error.fieldName == field, f"expected {field}, got {error.fieldName}"
        return error
    raise AssertionError(f"expected the error {code}")


def names(listed):
    return sorted(one.name for one in listed)


def actions(resource):
    return set(vars(resource.actions))


def fields(type_name):
    return client.schema.types[type_name].resourceFields


def rule(port, target, service, **more):
    return {"sourcePort": port, "targetPort": target, "serviceId": service.id, "protocol": "tcp", **more}


def until(condition, what):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"timed out waiting for {what}")


@step
def builds_its_methods_from_the_schema():
    for method in ("list_host", "by_id_host", "list_stack", "create_stack", "list_setting", "list_project"):
        assert hasattr(client, method), method
    for kind in ("externalService", "loadBalancerService"):
        for method in ("list", "by_id", "create", "update_by_id"):
            assert hasattr(client, f"{method}_{kind}"), f"{method}_{kind}"
        schema = client.schema.types[kind]
        assert schema.creatable and schema.updatable and schema.deletable and schema.listable
        for action in ("activate", "deactivate", "remove", "update"):
            assert hasattr(schema.resourceActions, action), action
    assert not client.schema.types["host"].creatable
    inputs = client.schema.types["loadBalancerService"].resourceActions.setservicelinks.input
    assert fields(inputs).serviceLinks.type == "array[serviceLink]"
    assert fields("lbConfig").portRules.type == "array[portRule]"
    assert fields("portRule").sourcePort.required is True
    assert fields("loadBalancerService").launchConfig.required is True
    assert fields("loadBalancerService").launchConfig.type == "launchConfig"
    assert fields("externalService").stackId.type == "reference[stack]"
    for name in ("serviceId", "hostId"):
        assert hasattr(fields("publicEndpoint"), name), name


@step
def reads_hosts():
    host = client.list_host(name="node-1", removed_null=1).data[0]
    assert (host.type, host.hostname, host.state) == ("host", "node-1", "active")
    addresses = host.ipAddresses()
    assert [one.address for one in addresses] == ["192.0.2.1"]
    assert addresses.data[0].type == "ipAddress"
    assert client.by_id_host(host.id).uuid == host.uuid
    assert [one.id for one in client.list_host(uuid=host.uuid)] == [host.id]
    included = client.list_host(uuid=host.uuid, include="ipAddresses").data[0]
    assert [one.address for one in included.ipAddresses] == ["192.0.2.1"]
    # The client keeps the link beside a field of the same name.
    assert [one.address for one in included.ipAddresses_link()] == ["192.0.2.1"]
    assert client.by_id_host("1h99999") is None


@step
def filters_by_what_the_schema_names():
    strict = connect(strict=True)
    assert names(strict.list_host(name_prefix="node-")) == ["node-1", "node-2", "node-3", "node-4"]
    assert names(strict.list_host(name_prefix="node-", name_ne="node-2")) == ["node-1", "node-3", "node-4"]
    assert names(strict.list_host(name_like="%ode-1")) == ["node-1"]
    assert len(strict.list_host(name_like="ode-1").data) == 0
    assert len(strict.list_host(removed_notnull=1).data) == 0
    assert len(strict.list_host(state="inactive").data) == 0
    try:
        strict.list_host(hostname="node-1")
        raise AssertionError("hostname is not a filter")
    except cattle.ClientApiError:
        pass
    # The server ignores it, and returns the first page of all hosts.
    assert len(client.list_host(hostname="node-1").data) == 100
    assert client.list_host(name="node-1").filters.name[0].modifier == "eq"


@step
def reads_all_pages():
    page = client.list_host(name_prefix="many-", sort="name", order="desc", limit=60)
    assert page.pagination.limit == 60
    seen = [one.name for one in page]
    sizes = [len(page.data)]
    while page.pagination.next is not None:
        assert page.pagination.partial is True
        page = page.next()
        sizes.append(len(page.data))
        seen += [one.name for one in page]
    assert sizes == [60, 60, 60, 60, 10], sizes
    assert page.pagination.partial is False
    assert seen == sorted(set(seen), reverse=True)
    assert client.list_host().pagination.limit == 100
    assert client.list_host(limit=0).pagination.limit == 3000
    assert client.list_host(limit=5000).pagination.limit == 3000


@step
def reads_settings_and_projects():
    images = [one.value for one in client.list_setting() if one.name == "lb.instance.image"]
    assert images == ["rancher/lb-service-haproxy:v0.9.14"]
    assert client.by_id_setting("lb.instance.image").activeValue == images[0]
    projects = client.list_project()
    assert len(projects.data) == 1
    inside = connect(f"{endpoint}/projects/{projects.data[0].id}")
    assert len(inside.list_host(name="node-1").data) == 1
    assert f"/projects/{projects.data[0].id}/" in projects.data[0].links.hosts


@step
def creates_a_stack():
    stack = client.create_stack(name="python", externalId="python://")
    world.stack = client.wait_success(stack)
    assert world.stack.state == "active"
    assert world.stack.externalId == "python://"
    assert names(client.list_stack(name="python", removed_null=1)) == ["python"]
    refuses(422, "NotUnique", lambda: client.create_stack(name="python"), "name")
    refuses(422, "MissingRequired", client.create_stack, "name")


@step
def activates_an_external_service():
    created = client.create_externalService(
        name="one", stackId=world.stack.id, externalIpAddresses=["192.0.2.1"], metadata={"a": {"b": 1}}
    )
    assert (created.state, created.transitioning) == ("registering", "yes")
    assert "activate" not in actions(created)
    activate = f"{created.links.self}/?action=activate"
    refuses(422, "ActionNotAvailable", lambda: client._post(activate, {}), "action")
    inactive = client.wait_success(created)
    assert inactive.state == "inactive"
    assert {"activate", "remove", "update"} <= actions(inactive)
    assert "deactivate" not in actions(inactive)
    activating = inactive.activate()
    assert (activating.state, activating.transitioning) == ("activating", "yes")
    assert "deactivate" in actions(activating)
    world.one = client.wait_success(activating)
    assert world.one.state == "active"
    assert vars(world.one.metadata)["a"].b == 1
    assert client.wait_success(world.one.deactivate()).state == "inactive"
    assert client.wait_success(client.reload(world.one).activate()).state == "active"


@step
def changes_an_external_service():
    two = client.create_externalService(
        name="two",
        stackId=world.stack.id,
        externalIpAddresses=["192.0.2.2"],
        startOnCreate=True,
        healthCheck={"port": 30999, "requestLine": "GET /healthz HTTP/1.0", "interval": 2000},
    )
    until(lambda: client.reload(two).state == "active", "the activation after the creation")
    changing = client.update(two, externalIpAddresses=["192.0.2.9"])
    assert changing.state == "updating-active"
    world.two = client.wait_success(changing)
    assert world.two.externalIpAddresses == ["192.0.2.9"]
    assert world.two.healthCheck.port == 30999
    # A health check stays as it was created.
    client.update(world.two, healthCheck=None)
    assert client.wait_success(world.two).healthCheck.port == 30999
    client.update_by_id_externalService(two.id, metadata={"c": 1})
    assert client.wait_success(world.two).metadata.c == 1


@step
def refuses_external_services():
    def create(**fields):
        good = {"name": "three", "stackId": world.stack.id, "externalIpAddresses": ["192.0.2.3"]}
        return lambda: client.create_externalService(**{**good, **fields})

    refuses(422, "NotUnique", create(name="ONE"), "name")
    refuses(422, "InvalidCharacters", create(name="a_b"), "name")
    refuses(422, "MaxLengthExceeded", create(name="a" * 64), "name")
    refuses(422, "InvalidReference", create(stackId="1st99999"), "stackId")


@step
def creates_a_load_balancer():
    created = client.create_loadBalancerService(
        name="lb",
        stackId=world.stack.id,
        launchConfig={"imageUuid": "docker:image", "ports": ["80:80/tcp"], "labels": {"a": "b"}},
        lbConfig={"portRules": [rule(80, 30080, world.one)]},
    )
    assert (created.state, created.scale) == ("registering", 1)
    inactive = client.wait_success(created)
    assert {"activate", "setservicelinks"} <= actions(inactive)
    balancer = client.wait_success(inactive.activate())
    assert balancer.state == "active"
    world.balancer = until(lambda: ready(balancer), "the public endpoints")
    endpoint = world.balancer.publicEndpoints[0]
    assert (endpoint.type, endpoint.port, endpoint.serviceId) == ("publicEndpoint", 80, balancer.id)
    assert endpoint.ipAddress == "192.0.2.1"
    assert vars(world.balancer.launchConfig.labels)["a"] == "b"
    assert names(world.balancer.consumedservices()) == ["one"]
    assert names(client.reload(world.one).consumedbyservices()) == ["lb"]


def ready(balancer):
    found = client.reload(balancer)
    return found if found.publicEndpoints and found.healthState == "healthy" else None


@step
def changes_rules_without_changing_ports():
    rules = [rule(80, 30080, world.one), rule(81, 30081, world.two)]
    changing = client.update(world.balancer, lbConfig={"portRules": rules})
    assert changing.state == "updating-active"
    balancer = client.wait_success(changing)
    assert [one.sourcePort for one in balancer.lbConfig.portRules] == [80, 81]
    assert balancer.launchConfig.ports == ["80:80/tcp"]
    assert names(balancer.consumedservices()) == ["one", "two"]


@step
def changes_ports_with_the_launch_configuration():
    launch = {"imageUuid": "docker:image", "ports": ["80:80/tcp", "81:81/tcp"], "labels": {"a": "b"}}
    balancer = client.wait_success(client.update(world.balancer, launchConfig=launch))
    assert sorted(balancer.launchConfig.ports) == ["80:80/tcp", "81:81/tcp"]
    assert sorted(one.port for one in until(lambda: ready(balancer), "two endpoints").publicEndpoints) == [80, 81]
    assert balancer.id == world.balancer.id


@step
def refuses_rules():
    def change(**fields):
        changed = {**rule(80, 30080, world.one), **fields}
        rules = [{name: value for name, value in changed.items() if value is not None}]
        return lambda: client.update(world.balancer, lbConfig={"portRules": rules})

    refuses(422, "InvalidOption", change(protocol="sctp"), "protocol")
    refuses(422, "MissingRequired", change(sourcePort=None), "sourcePort")
    refuses(422, "MissingRequired", change(targetPort=None), "targetPort")
    refuses(422, "InvalidReference", change(serviceId="1s99999"), "serviceId")
    refuses(422, "InvalidOption", change(selector="a=b"))
    refuses(422, "MissingRequired", change(serviceId=None), "serviceId")
    refuses(422, "MaxLimitExceeded", change(sourcePort=70000), "sourcePort")
    refuses(422, "InvalidOption", change(sourcePort=42))
    launch = {"imageUuid": "docker:image", "ports": ["80:80/sctp"]}
    creation = {"name": "wrong", "stackId": world.stack.id, "lbConfig": {}}
    create = client.create_loadBalancerService
    refuses(422, "PortInvalidProtocol", lambda: create(launchConfig=launch, **creation))
    launch = {"imageUuid": "docker:image", "ports": ["eighty"]}
    refuses(422, "PortWrongFormat", lambda: create(launchConfig=launch, **creation))
    refuses(422, "MissingRequired", lambda: create(**creation), "launchConfig")


@step
def replaces_service_links():
    links = {"serviceLinks": [{"serviceId": world.two.id}]}
    client.reload(world.balancer).setservicelinks(**links)
    until(lambda: names(client.reload(world.balancer).consumedservices()) == ["two"], "the only link, to two")


@step
def reports_a_failed_activation():
    created = client.create_loadBalancerService(
        name="occupied",
        stackId=world.stack.id,
        launchConfig={"imageUuid": "docker:image", "ports": ["9999:9999/tcp"]},
        lbConfig={},
    )
    activating = client.wait_success(created).activate()
    failed = client.wait_transitioning(activating)
    assert failed.transitioning == "error"
    assert "9999" in failed.transitioningMessage
    client.delete(client.reload(failed))


@step
def removes_services():
    removing = client.delete(client.reload(world.one))
    assert removing.state == "removing"
    refuses(422, "ActionNotAvailable", lambda: client._post(f"{removing.links.self}/?action=activate", {}))
    creation = {"name": "one", "stackId": world.stack.id, "externalIpAddresses": ["192.0.2.1"]}
    # Its name is taken until it is removed.
    refuses(422, "NotUnique", lambda: client.create_externalService(**creation), "name")
    removed = client.wait_success(removing)
    assert removed.state == "removed" and removed.removed is not None
    assert world.one.id not in [one.id for one in client.list_externalService(removed_null=1)]
    # The server removes the rules with it.
    rules = client.reload(world.balancer).lbConfig.portRules
    assert [one.serviceId for one in rules] == [world.two.id]
    assert client.wait_success(client.create_externalService(**creation)).state == "inactive"
    client.delete(client.reload(world.balancer))
    until(lambda: client.reload(world.balancer).state == "removed", "the removal")


@step
def refuses_other_requests():
    refuses(401, "Unauthorized", lambda: connect(secret_key="wrong"))
    host = client.list_host(name="node-1").data[0]
    hosts = client.schema.types["host"].links.collection
    refuses(422, "InvalidAction", lambda: client._post(f"{world.two.links.self}/?action=unknown", {}), "action")
    assert refuses_status(405, lambda: client._post(hosts, {}))
    assert refuses_status(404, lambda: client._get(f"{endpoint}/nothings"))
    assert refuses_status(404, lambda: client._get(f"{host.links.self}9999"))


def refuses_status(status, request):
    try:
        request()
    except cattle.ApiError as refusal:
        return refusal.error.status == status
    return False


run_all("cattle for Python")
