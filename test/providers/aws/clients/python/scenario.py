"""Drives the simulated account with boto3, and checks the results. botocore signs the requests, writes them by AWS's models,
and reads the responses by them.

Each step prints a line. The last lines are the numbers of steps that passed and failed.
"""

import os

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError
from steps import run_all, step

once = Config(retries={"total_max_attempts": 1})
ec2 = boto3.client("ec2", config=once)
sts = boto3.client("sts", config=once)
vpc = os.environ["FAIRLEAD_VPC"]
subnet = os.environ["FAIRLEAD_SUBNET"]
cluster = {"Key": "kubernetes.io/cluster/prod", "Value": "owned"}


class World:
    """What earlier steps created."""


world = World()


def equal(actual, expected):
    assert actual == expected, f"expected {expected!r}, got {actual!r}"


def refuses(code, request):
    try:
        answer = request()
    except ClientError as error:
        equal(error.response["Error"]["Code"], code)
        assert error.response["ResponseMetadata"]["RequestId"], "expected a request id"
        return
    raise AssertionError(f"expected {code}, got {answer}")


@step
def runs_and_describes_instances():
    tags = [{"ResourceType": "instance", "Tags": [cluster, {"Key": "Name", "Value": "a & <b>"}]}]
    made = ec2.run_instances(
        ImageId="ami-1", InstanceType="m5.large", MinCount=3, MaxCount=3, SubnetId=subnet, TagSpecifications=tags
    )["Instances"]
    world.ids = [one["InstanceId"] for one in made]
    pages = ec2.get_paginator("describe_instances").paginate(
        Filters=[{"Name": "tag-key", "Values": [cluster["Key"]]}], PaginationConfig={"PageSize": 5}
    )
    found = [one for page in pages for each in page["Reservations"] for one in each["Instances"]]
    equal([one["InstanceId"] for one in found], world.ids)
    first = found[0]
    equal(first["State"], {"Code": 16, "Name": "running"})
    equal(first["Placement"]["AvailabilityZone"], "us-west-2a")
    equal(first["SourceDestCheck"], True)
    equal({tag["Key"]: tag["Value"] for tag in first["Tags"]}["Name"], "a & <b>")
    interface = first["NetworkInterfaces"][0]
    equal(interface["Attachment"]["DeviceIndex"], 0)
    equal(interface["PrivateIpAddresses"][0]["PrivateIpAddress"], first["PrivateIpAddress"])
    assert first["PrivateDnsName"].endswith(".us-west-2.compute.internal"), first["PrivateDnsName"]


@step
def pages_through_instances():
    sizes = []
    token = {}
    ec2.run_instances(ImageId="ami-1", MinCount=8, MaxCount=8, SubnetId=subnet)
    while True:
        page = ec2.describe_instances(MaxResults=5, **token)
        sizes.append(len(page["Reservations"]))
        if "NextToken" not in page:
            break
        token = {"NextToken": page["NextToken"]}
    equal(sizes, [5, 5, 1])


@step
def refuses_unknown_instances_and_pages_of_ids():
    refuses("InvalidInstanceID.NotFound", lambda: ec2.describe_instances(InstanceIds=["i-0fffffffffffffff0"]))
    refuses(
        "InvalidParameterCombination",
        lambda: ec2.describe_instances(InstanceIds=world.ids[:1], MaxResults=5),
    )


@step
def stops_starts_and_terminates():
    one = world.ids[:1]
    state = lambda: ec2.describe_instances(InstanceIds=one)["Reservations"][0]["Instances"][0]["State"]["Name"]
    equal(ec2.stop_instances(InstanceIds=one)["StoppingInstances"][0]["PreviousState"]["Name"], "running")
    equal(state(), "stopped")
    ec2.start_instances(InstanceIds=one)
    equal(state(), "running")
    ec2.terminate_instances(InstanceIds=world.ids[2:])
    gone = ec2.describe_instances(Filters=[{"Name": "instance-state-name", "Values": ["terminated"]}])
    equal([one["Instances"][0]["InstanceId"] for one in gone["Reservations"]], world.ids[2:])


@step
def describes_zones_and_topology():
    zones = ec2.describe_availability_zones()["AvailabilityZones"]
    equal([(zone["ZoneName"], zone["ZoneId"], zone["ZoneType"]) for zone in zones][0],
          ("us-west-2a", "usw2-az1", "availability-zone"))
    trainer = ec2.run_instances(ImageId="ami-1", InstanceType="p4d.24xlarge", MinCount=1, MaxCount=1, SubnetId=subnet)
    ids = [trainer["Instances"][0]["InstanceId"], world.ids[0]]
    topology = ec2.describe_instance_topology(InstanceIds=ids)["Instances"]
    equal([one["InstanceId"] for one in topology], ids[:1])
    equal(len(topology[0]["NetworkNodes"]), 3)


@step
def adds_and_removes_tags():
    both = world.ids[:2]
    tags = lambda: [
        {tag["Key"]: tag["Value"] for tag in each["Instances"][0].get("Tags", [])}
        for each in ec2.describe_instances(InstanceIds=both)["Reservations"]
    ]
    ec2.create_tags(Resources=both, Tags=[{"Key": "team", "Value": "a"}, {"Key": "empty", "Value": ""}])
    equal([(one["team"], one["empty"]) for one in tags()], [("a", ""), ("a", "")])
    ec2.delete_tags(Resources=both, Tags=[{"Key": "team", "Value": "b"}, {"Key": "empty"}])
    equal([(one.get("team"), one.get("empty")) for one in tags()], [("a", None), ("a", None)])
    refuses("InvalidInstanceID.NotFound", lambda: ec2.create_tags(Resources=["i-0fffffffffffffff0"], Tags=[cluster]))


@step
def creates_and_deletes_routes():
    tables = ec2.describe_route_tables(Filters=[{"Name": "tag-key", "Values": [cluster["Key"]]}])["RouteTables"]
    equal(len(tables), 1)
    table = tables[0]["RouteTableId"]
    create = lambda cidr: ec2.create_route(RouteTableId=table, DestinationCidrBlock=cidr, InstanceId=world.ids[1])
    routes = lambda: {
        one["DestinationCidrBlock"]: (one.get("InstanceId"), one["State"])
        for one in ec2.describe_route_tables(RouteTableIds=[table])["RouteTables"][0]["Routes"]
    }
    create("10.244.1.0/24")
    equal(routes()["10.244.1.0/24"], (world.ids[1], "active"))
    refuses("RouteAlreadyExists", lambda: create("10.244.1.0/24"))
    ec2.stop_instances(InstanceIds=[world.ids[1]])
    equal(routes()["10.244.1.0/24"], (world.ids[1], "blackhole"))
    ec2.start_instances(InstanceIds=[world.ids[1]])
    ec2.delete_route(RouteTableId=table, DestinationCidrBlock="10.244.1.0/24")
    assert "10.244.1.0/24" not in routes()
    refuses(
        "InvalidRoute.NotFound",
        lambda: ec2.delete_route(RouteTableId=table, DestinationCidrBlock="10.244.1.0/24"),
    )


@step
def switches_the_source_destination_check_off():
    ec2.modify_instance_attribute(InstanceId=world.ids[0], SourceDestCheck={"Value": False})
    found = ec2.describe_instances(InstanceIds=world.ids[:1])["Reservations"][0]["Instances"][0]
    equal(found["SourceDestCheck"], False)


@step
def changes_rules_of_security_groups():
    group = ec2.create_security_group(
        GroupName="k8s-elb-a", Description="a", VpcId=vpc,
        TagSpecifications=[{"ResourceType": "security-group", "Tags": [cluster]}],
    )["GroupId"]
    refuses(
        "InvalidGroup.Duplicate",
        lambda: ec2.create_security_group(GroupName="k8s-elb-a", Description="a", VpcId=vpc),
    )
    web = {
        "IpProtocol": "tcp", "FromPort": 80, "ToPort": 80,
        "IpRanges": [{"CidrIp": "10.0.0.0/8", "Description": "own"}, {"CidrIp": "192.0.2.0/24"}],
        "Ipv6Ranges": [{"CidrIpv6": "2001:db8::/32"}],
    }
    peers = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group}]}
    ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=[web, peers])
    refuses(
        "InvalidPermission.Duplicate",
        lambda: ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=[peers]),
    )
    found = ec2.describe_security_groups(Filters=[{"Name": "tag-key", "Values": [cluster["Key"]]}])["SecurityGroups"]
    equal([one["GroupName"] for one in found], ["k8s-elb-a"])
    first, second = found[0]["IpPermissions"]
    equal((first["FromPort"], len(first["IpRanges"]), first["IpRanges"][0]["Description"]), (80, 2, "own"))
    equal(first["Ipv6Ranges"][0]["CidrIpv6"], "2001:db8::/32")
    equal([pair["GroupId"] for pair in second["UserIdGroupPairs"]], [group])
    ec2.revoke_security_group_ingress(GroupId=group, IpPermissions=[web, peers])
    refuses(
        "InvalidPermission.NotFound",
        lambda: ec2.revoke_security_group_ingress(GroupId=group, IpPermissions=[peers]),
    )
    ec2.delete_security_group(GroupId=group)
    refuses("InvalidGroup.NotFound", lambda: ec2.describe_security_groups(GroupIds=[group])["SecurityGroups"][0])


@step
def keeps_a_group_that_is_in_use():
    default = ec2.describe_security_groups(Filters=[{"Name": "group-name", "Values": ["default"]}])["SecurityGroups"]
    refuses("DependencyViolation", lambda: ec2.delete_security_group(GroupId=default[0]["GroupId"]))


@step
def describes_the_network():
    equal(ec2.describe_vpcs(VpcIds=[vpc])["Vpcs"][0]["CidrBlock"], "10.0.0.0/16")
    subnets = ec2.describe_subnets(Filters=[{"Name": "vpc-id", "Values": [vpc]}])["Subnets"]
    equal([one["AvailabilityZone"] for one in subnets], ["us-west-2a", "us-west-2b", "us-west-2c"])


@step
def assumes_a_role():
    key = sts.assume_role(RoleArn="arn:aws:iam::123456789012:role/ccm", RoleSessionName="test")["Credentials"]
    other = boto3.client(
        "ec2", config=once, aws_access_key_id=key["AccessKeyId"], aws_secret_access_key=key["SecretAccessKey"],
        aws_session_token=key["SessionToken"],
    )
    equal(len(other.describe_vpcs()["Vpcs"]), 1)


@step
def refuses_signatures_of_wrong_keys():
    wrong = boto3.client("ec2", config=once, aws_access_key_id="AKIDEXAMPLE", aws_secret_access_key="wrong")
    refuses("SignatureDoesNotMatch", wrong.describe_vpcs)
    unknown = boto3.client("ec2", config=once, aws_access_key_id="AKIDOTHER", aws_secret_access_key="wrong")
    refuses("AuthFailure", unknown.describe_vpcs)


run_all("boto3")
