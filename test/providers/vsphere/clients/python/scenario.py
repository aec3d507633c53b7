"""Drives the simulated vCenter with pyvmomi, VMware's own Python client, which checks the type of every member of a response.

Each step prints a line. The last lines are the numbers of steps that passed and failed.
"""

import base64
import json
import os
import urllib.error
import urllib.request
from urllib.parse import urlsplit

from pyVmomi import SoapStubAdapter, vim, vmodl
from steps import run_all, step

endpoint = os.environ["FAIRLEAD_ENDPOINT"]
user, password = os.environ["FAIRLEAD_USER"], os.environ["FAIRLEAD_PASSWORD"]
count = int(os.environ["FAIRLEAD_MACHINES"])
address = urlsplit(endpoint)

MACHINE_PROPERTIES = [
    "name", "parent", "parentVApp", "resourcePool", "runtime.host", "runtime.powerState", "runtime.connectionState",
    "guest.hostName", "guest.net", "summary.config.uuid", "summary.config.template", "summary.config.guestId",
    "summary.config.numCpu", "summary.config.memorySizeMB",
]  # fmt: skip
PLACES = [vim.HostSystem, vim.ComputeResource, vim.Folder, vim.Datacenter, vim.ResourcePool]


def connect():
    """Without a session. A port below zero is plain HTTP."""
    stub = SoapStubAdapter(host=address.hostname, port=-address.port, path="/sdk", version="vim.version.v8_0_1_0")
    return vim.ServiceInstance("ServiceInstance", stub).RetrieveContent()


def log_in():
    content = connect()
    content.sessionManager.Login(user, password)
    return content


def refuses(kind, request):
    try:
        request()
    except kind as fault:
        return fault
    raise AssertionError(f"expected {kind.__name__}")


def selection(view, properties):
    collector = vmodl.query.PropertyCollector
    traversal = collector.TraversalSpec(type=vim.view.ContainerView, path="view", skip=False)
    start = collector.ObjectSpec(obj=view, skip=False, selectSet=[traversal])
    sets = [collector.PropertySpec(type=kind, pathSet=paths) for kind, paths in properties]
    return collector.FilterSpec(objectSet=[start], propSet=sets)


def read_all(content, what, size):
    """All objects, and the number of pages."""
    collector = content.propertyCollector
    options = vmodl.query.PropertyCollector.RetrieveOptions(maxObjects=size)
    result = collector.RetrievePropertiesEx([what], options)
    objects, pages = list(result.objects), 1
    while result.token:
        result = collector.ContinueRetrievePropertiesEx(result.token)
        objects.extend(result.objects)
        pages += 1
    return objects, pages


def view_of(content, *kinds):
    return content.viewManager.CreateContainerView(content.rootFolder, list(kinds), True)


def machines_in(content):
    view = view_of(content, vim.VirtualMachine)
    objects, _ = read_all(content, selection(view, [(vim.VirtualMachine, MACHINE_PROPERTIES)]), 500)
    found = [one for one in objects if isinstance(one.obj, vim.VirtualMachine)]
    return [(one.obj, {each.name: each.val for each in one.propSet}) for one in found]


@step
def names_its_services_without_a_session():
    content = connect()
    assert content.about.apiType == "VirtualCenter"
    assert content.about.name == "VMware vCenter Server"
    for service, kind in (
        (content.rootFolder, vim.Folder),
        (content.propertyCollector, vmodl.query.PropertyCollector),
        (content.viewManager, vim.view.ViewManager),
        (content.sessionManager, vim.SessionManager),
        (content.searchIndex, vim.SearchIndex),
        (content.authorizationManager, vim.AuthorizationManager),
    ):
        assert isinstance(service, kind), service


@step
def refuses_a_wrong_password():
    refuses(vim.fault.InvalidLogin, lambda: connect().sessionManager.Login(user, "wrong"))


@step
def requires_a_session():
    content = connect()
    refuses(vim.fault.NotAuthenticated, lambda: view_of(content, vim.VirtualMachine))


@step
def ends_a_session():
    content = log_in()
    view = view_of(content, vim.Folder)
    content.sessionManager.Logout()
    what = selection(view, [(vim.Folder, ["name"])])
    refuses(vim.fault.NotAuthenticated, lambda: read_all(content, what, 100))


@step
def lists_machines_in_pages_with_typed_values():
    content = log_in()
    view = view_of(content, vim.VirtualMachine)
    properties = [(vim.VirtualMachine, MACHINE_PROPERTIES), (vim.view.ContainerView, ["view"])]
    objects, pages = read_all(content, selection(view, properties), 100)
    machines = [one for one in objects if isinstance(one.obj, vim.VirtualMachine)]
    assert len(machines) == count, len(machines)
    assert pages == (len(objects) + 99) // 100, pages
    (of_view,) = [one for one in objects if isinstance(one.obj, vim.view.ContainerView)]
    assert len(of_view.propSet[0].val) == count
    values = {each.name: each.val for each in machines[0].propSet}
    assert values["runtime.powerState"] == "poweredOn"
    assert values["runtime.connectionState"] == "connected"
    assert isinstance(values["runtime.host"], vim.HostSystem)
    assert isinstance(values["parent"], vim.Folder)
    assert isinstance(values["resourcePool"], vim.ResourcePool)
    assert values["summary.config.template"] is False
    assert isinstance(values["summary.config.numCpu"], int)
    (nic,) = values["guest.net"]
    assert isinstance(nic, vim.vm.GuestInfo.NicInfo)
    assert isinstance(nic.deviceConfigId, int) and nic.ipAddress and nic.network
    assert "parentVApp" not in values, "a machine that is in no vApp has no such property"


@step
def shows_what_machines_are_in():
    content = log_in()
    view = view_of(content, *PLACES)
    objects, _ = read_all(content, selection(view, [(kind, ["name", "parent"]) for kind in PLACES]), 500)
    parents = {one.obj._moId: {each.name: each.val for each in one.propSet} for one in objects}
    kinds = {type(one.obj) for one in objects}
    assert vim.ClusterComputeResource in kinds, "subtypes are in the view"
    (datacenter,) = [one.obj for one in objects if isinstance(one.obj, vim.Datacenter)]
    assert parents[datacenter._moId]["parent"] == content.rootFolder
    host = next(one.obj for one in objects if isinstance(one.obj, vim.HostSystem))
    assert isinstance(parents[host._moId]["parent"], vim.ClusterComputeResource)


@step
def finds_machines_by_uuid_and_host_name():
    content = log_in()
    machine, values = machines_in(content)[0]
    index = content.searchIndex
    assert index.FindAllByUuid(None, values["summary.config.uuid"], True, False) == [machine]
    assert index.FindAllByDnsName(None, values["guest.hostName"], True) == [machine]
    assert index.FindAllByUuid(None, "00000000-0000-0000-0000-000000000000", True, False) == []


@step
def says_that_an_object_does_not_exist():
    content = log_in()
    gone = vim.VirtualMachine("vm-999999", content.rootFolder._stub)
    collector = vmodl.query.PropertyCollector
    what = collector.FilterSpec(
        objectSet=[collector.ObjectSpec(obj=gone)],
        propSet=[collector.PropertySpec(type=vim.VirtualMachine, pathSet=["name"])],
    )
    fault = refuses(vmodl.fault.ManagedObjectNotFound, lambda: read_all(content, what, 10))
    assert fault.obj == gone
    fault = refuses(
        vmodl.fault.ManagedObjectNotFound,
        lambda: content.authorizationManager.HasPrivilegeOnEntities([gone], "key", ["System.Read"]),
    )
    assert fault.obj == gone


@step
def says_what_the_user_may_read():
    content = log_in()
    machine, _ = machines_in(content)[0]
    (answer,) = content.authorizationManager.HasPrivilegeOnEntities([machine], "key", ["System.Read"])
    assert answer.entity == machine
    (right,) = answer.privAvailability
    assert (right.privId, right.isGranted) == ("System.Read", True)


@step
def clones_a_session_with_a_ticket_once():
    request = urllib.request.Request(f"{endpoint}/shared-session", headers={"authorization": "Bearer shared"})
    with urllib.request.urlopen(request) as response:
        ticket = json.load(response)["token"]
    content = connect()
    session = content.sessionManager.CloneSession(ticket)
    assert session.userName == user
    assert view_of(content, vim.Folder)._moId
    refuses(vim.fault.InvalidLogin, lambda: connect().sessionManager.CloneSession(ticket))


def rest(method, path, session=None, body=None, **headers):
    headers = {"content-type": "application/json", **headers}
    if session is not None:
        headers["vmware-api-session-id"] = session
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{endpoint}/rest/com/vmware/cis/{path}", data, headers, method=method)
    with urllib.request.urlopen(request) as response:
        text = response.read()
        return json.loads(text)["value"] if text else None


@step
def has_tags_by_rest():
    basic = base64.b64encode(f"{user}:{password}".encode()).decode()
    session = rest("POST", "session", authorization=f"Basic {basic}")
    content = log_in()
    view = view_of(content, vim.Datacenter)
    objects, _ = read_all(content, selection(view, [(vim.Datacenter, ["name"])]), 10)
    (datacenter,) = [one.obj for one in objects if isinstance(one.obj, vim.Datacenter)]
    asked = {"object_ids": [{"type": "Datacenter", "id": datacenter._moId}]}
    path = "tagging/tag-association?~action=list-attached-tags-on-objects"
    (attached,) = rest("POST", path, session, asked)
    (tag_id,) = attached["tag_ids"]
    tag = rest("GET", f"tagging/tag/id:{tag_id}", session)
    assert rest("GET", f"tagging/category/id:{tag['category_id']}", session)["name"] == "k8s-region"
    rest("DELETE", "session", session)
    try:
        rest("POST", path, session, asked)
    except urllib.error.HTTPError as error:
        assert error.code == 401
    else:
        raise AssertionError("expected 401")


run_all("pyvmomi")
