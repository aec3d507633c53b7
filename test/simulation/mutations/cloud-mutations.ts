// Mutations of providers: each removes the guard of a cloud object that other load balancers or clusters use.

import type { FoundByTest, Mutation } from "./mutation.ts";

const inAWS = (test: string): FoundByTest => ({
  file: "test/providers/aws/shared-resources.long.test.ts",
  test,
});
const inOpenStack = (test: string): FoundByTest => ({
  file: "test/providers/openstack/errored-balancers.test.ts",
  test,
});
const inHetzner = (test: string): FoundByTest => ({
  file: "test/providers/hetzner/shared-balancers.test.ts",
  test,
});
const inSharedHetzner = (test: string): FoundByTest => ({
  file: "test/providers/hetzner/shared-hostile.test.ts",
  test,
});
const inSharedOpenStack = (test: string): FoundByTest => ({
  file: "test/providers/openstack/shared-balancers.test.ts",
  test,
});
const nodeRules = "providers/aws/load-balancers/node-rules.ts";
const planOpenStack = "providers/openstack/plan-balancer.ts";

/** One text of one file. */
const edit = (file: string, find: string, replace: string) => [{ file, find, replace }] as const;

export const cloudMutations: readonly Mutation[] = [
  {
    name: "revoke-a-shared-rule-for-path-mtu",
    breaks: "AWS: the rule for path MTU discovery that other network load balancers need is revoked.",
    foundBy: inAWS(
      "keeps the rule for path MTU discovery while another network load balancer has the same clients",
    ),
    edits: edit(nodeRules, "? !clients.has(rule.peer)", "? true"),
  },
  {
    name: "revoke-a-rule-for-a-group-in-use",
    breaks: "AWS: the rule for a security group that other classic load balancers have is revoked.",
    foundBy: inAWS(
      "keeps a rule that names a given security group while another classic load balancer uses the group",
    ),
    edits: edit(nodeRules, "!usedGroups.has(peer) &&", ""),
  },
  {
    name: "delete-a-security-group-in-use",
    breaks: "AWS: a security group of Fairlead that another load balancer has is deleted.",
    foundBy: inAWS(
      "keeps its security group after the Service is deleted while another load balancer uses the group",
    ),
    edits: edit("providers/aws/load-balancers/plan-balancer.ts", "      !usedGroups.has(id) &&\n", ""),
  },
  {
    name: "use-subnets-of-other-clusters",
    breaks: "AWS: a load balancer is placed in subnets with the tag of another cluster.",
    foundBy: inAWS("creates no network load balancer in subnets of other clusters"),
    edits: edit("providers/aws/load-balancers/subnets.ts", "|| hasNoClusterTag(tagSet)", "|| true"),
  },
  {
    name: "delete-an-errored-balancer-with-a-floating-ip",
    breaks: "OpenStack: a load balancer in ERROR is deleted although it has a floating IP.",
    foundBy: inOpenStack(
      "keeps a load balancer in ERROR that is still being created if it has a floating IP",
    ),
    edits: edit(planOpenStack, " && observed.floatingIP === undefined;", ";"),
  },
  {
    name: "delete-an-errored-balancer-that-is-shared",
    breaks: "OpenStack: a load balancer in ERROR is deleted although other Services share it.",
    foundBy: inOpenStack(
      "keeps a load balancer in ERROR that is still being created if another Service shares it",
    ),
    edits: edit(planOpenStack, "if (!isNew || !viewFor(observed).isLast)", "if (!isNew)"),
  },
  {
    name: "take-a-floating-ip-in-use",
    breaks: "OpenStack: a Service takes the floating IP of another port.",
    foundBy: inOpenStack("keeps a floating IP of spec.loadBalancerIP that another port uses"),
    edits: edit(
      "providers/openstack/load-balancers.ts",
      "existing.port_id === null || existing.port_id === port_id",
      "existing.port_id !== undefined",
    ),
  },
  {
    name: "delete-a-balancer-with-foreign-listeners",
    breaks:
      "A shared load balancer is deleted with the last Service although something else has a listener there.",
    foundBy: inSharedHetzner("stay if a user has added them with a listener just before the Services leave"),
    edits: edit(
      "src/kit/shared-balancer.ts",
      "others.length === 0 && taken.every((one) => one.marks.length > 0)",
      "others.length === 0",
    ),
  },
  {
    name: "apply-whatever-the-marks-are",
    breaks: "A step on a shared load balancer is applied although its marks have changed since the plan.",
    foundBy: inHetzner("is not deleted for the last Service if a user adds a port just before"),
    edits: edit(
      "src/kit/while-marked.ts",
      "if (planned !== undefined && new Set(found.marks).symmetricDifference(new Set(planned)).size === 0)",
      "if (planned !== undefined)",
    ),
  },
  {
    name: "remove-a-target-of-a-paused-service",
    breaks: "A Service removes targets that a paused Service of the same load balancer has.",
    foundBy: inHetzner("keep the targets of a paused Service, and report the pause"),
    edits: edit("src/controllers/service/desired/sharers.ts", " && !isPaused(service)", ""),
  },
  {
    name: "remove-targets-of-terraform",
    breaks: "Hetzner: beside something else, targets without a label are removed.",
    foundBy: inSharedHetzner("stays next to a Service without a target"),
    edits: edit(
      "providers/hetzner/shared-labels.ts",
      "marks.size > 0 ? [] : existing.filter",
      "true ? [] : existing.filter",
    ),
  },
  {
    name: "take-over-targets-of-terraform",
    breaks: "Hetzner: a target that was there before a Service needed it is removed with the Service.",
    foundBy: inSharedHetzner("stays when the Service is deleted"),
    edits: edit("providers/hetzner/shared-labels.ts", "(labels[label] ?? kept)", '(labels[label] ?? "")'),
  },
  {
    name: "delete-a-balancer-of-terraform",
    breaks: "Hetzner: a load balancer is deleted while Terraform replaces its only listener.",
    foundBy: inSharedHetzner("stays while the listener of Terraform is being replaced"),
    edits: edit(
      "providers/hetzner/sharing.ts",
      "parts.view.isLast && balancer.targets.every(isOfServices(balancer.labels))",
      "parts.view.isLast",
    ),
  },
  {
    name: "join-a-balancer-without-agreement",
    breaks: "Hetzner: a Service joins a load balancer of Services that do not share it with others.",
    foundBy: inHetzner("that stops sharing keeps its ports, and lets no other Service join"),
    edits: edit("providers/hetzner/sharing-problems.ts", "if (closed.length > 0)", "if (closed.length > 99)"),
  },
  {
    name: "delete-a-balancer-with-a-new-listener",
    breaks:
      "OpenStack: a load balancer is deleted with a listener that another program has added since the plan.",
    foundBy: inSharedOpenStack("is not deleted for the last Service if a user adds a listener just before"),
    edits: edit("providers/openstack/load-balancers.ts", "known?.includes(one.id) === false", "false"),
  },
  {
    name: "delete-a-balancer-whose-tag-was-removed",
    breaks:
      "OpenStack: a load balancer is deleted with the listeners of a Service whose tag a user has removed.",
    foundBy: inSharedOpenStack("is not deleted with the listener of a Service whose tag a user has removed"),
    edits: edit("providers/openstack/balancer.ts", "(one.tags ?? []).filter(isMark)", "[]"),
  },
];
