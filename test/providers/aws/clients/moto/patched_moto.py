# moto with corrections of faults by which changes of a load balancer fail, or leave another state than in AWS.

from moto.ec2.models.security_groups import SecurityGroupBackend
from moto.elb.models import ELBBackend, FakeBackend
from moto.elbv2.models import ELBv2Backend
from moto.server import main

# An account can request 1,000 rules in a security group.
SecurityGroupBackend._verify_group_will_respect_rule_count_limit = lambda *_, **__: None

modify_listener = ELBv2Backend.modify_listener
create_listeners = ELBBackend.create_load_balancer_listeners


def modify_with_tls(
    self, arn, port=None, protocol=None, ssl_policy=None, certificates=None, actions=None
):
    """Accepts all protocols of network load balancers. A listener without TLS has no certificate."""
    listener = modify_listener(self, arn, port, None, ssl_policy, certificates, actions)
    arns = [one["CertificateArn"] for one in certificates or []]
    if protocol is not None:
        listener.protocol = protocol
    if protocol not in (None, "TLS") or arns:
        listener.certificate = arns[0] if arns else None
        listener.certificates = arns
    return listener


def delete_listeners(self, name, ports):
    """Deletes several listeners too."""
    balancer = self.get_load_balancer(name)
    removed = {int(port) for port in ports}
    balancer.listeners = [one for one in balancer.listeners if int(one.load_balancer_port) not in removed]
    return balancer


def create_with_backends(self, name, ports):
    """Adds the backends of new listeners, so that they can get policies."""
    balancer = create_listeners(self, name, ports)
    known = {int(one.instance_port) for one in balancer.backends}
    for port in (one["InstancePort"] for one in ports):
        if int(port) not in known:
            balancer.backends.append(FakeBackend(instance_port=port))
            known.add(int(port))
    return balancer


ELBv2Backend.modify_listener = modify_with_tls
ELBBackend.delete_load_balancer_listeners = delete_listeners
ELBBackend.create_load_balancer_listeners = create_with_backends

main()
