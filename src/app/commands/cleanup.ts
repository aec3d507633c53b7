// `cleanup`: lists what a cluster left in the cloud, and deletes it after a confirmation.

import type { Problem } from "../../core/problem.ts";
import type { ClusterState } from "../../inspect/cleanup/cluster-state.ts";
import type { Leftover } from "../../inspect/cleanup/leftovers.ts";
import { invalidFlag } from "../flags/flag-problems.ts";
import type { Flags } from "../flags/flag-table.ts";
import { defaultClusterName } from "../flags/groups/generic.ts";
import type { ReadFlags } from "../flags/read-flags.ts";
import type { Command } from "./command.ts";

function flagProblems({ flags, given }: ReadFlags): readonly Problem[] {
  const problems: Problem[] = [];
  const hasOwners = (flags.owner ?? []).length > 0;
  if (hasOwners && flags["all-marked"])
    problems.push(invalidFlag("all-marked", "and --owner contradict each other; omit one of them"));
  // Many clusters have the default of --cluster-name.
  if (flags["cluster-is-gone"] && given["cluster-name"] === undefined)
    problems.push(
      invalidFlag("cluster-is-gone", "requires --cluster-name, the name of the cluster that is gone"),
    );
  return problems;
}

/** Explains why routes are not listed. */
function noRoutes({ flags }: ReadFlags): string | undefined {
  if ((flags.owner ?? []).length > 0) return undefined;
  if (!flags["configure-cloud-routes"]) return undefined;
  const isSet = flags["cluster-cidr"] !== undefined;
  return isSet ? undefined : "Routes are not listed: set --cluster-cidr to the pod ranges of the cluster.";
}

/** Many clusters have the default name. With that name, `--yes` deletes nothing that only the name connects to this cluster. */
function wrongCluster(
  cluster: ClusterState,
  { yes, "cluster-uid": expected, "cluster-name": name }: Flags,
  unproved: readonly Leftover[],
  countText: (leftovers: readonly Leftover[]) => string,
): string | undefined {
  const { uid } = cluster;
  if (expected !== undefined && uid !== expected)
    return `--cluster-uid is ${expected}, but the API server belongs to the cluster with uid ${uid ?? "unknown, because the namespace kube-system cannot be read"}. Check --kubeconfig and --context`;
  const isNamed = cluster.kind === "read" && expected !== undefined;
  if (!yes || name !== defaultClusterName || isNamed || unproved.length === 0) return undefined;
  const what = `the name ${name} is the default of many clusters, and nothing else shows that this is the cluster of ${countText(unproved)}`;
  return cluster.kind === "read"
    ? `${what}. Set --cluster-uid=${uid ?? "…"} if this is the right cluster, or --owner, or omit --yes`
    : `${what}. Set --cluster-uid, which deletes only what has it in its mark, or --owner, or omit --yes`;
}

/** Explains why nothing may be deleted; undefined if deletion is allowed. */
async function refusal(
  cluster: ClusterState,
  { "cluster-is-gone": isGone }: Flags,
  findLeader: () => Promise<string | undefined>,
): Promise<string | undefined> {
  if (cluster.kind === "unreachable")
    return isGone
      ? undefined
      : `no API server answered, so existing Services and Nodes are not known (${cluster.why}). Set --kubeconfig, or --cluster-is-gone if the cluster no longer exists`;
  if (isGone)
    return `the API server at ${cluster.origin} answers, so the cluster is not gone. Omit --cluster-is-gone. If that server belongs to another cluster, set --kubeconfig=/dev/null`;
  const leader = await findLeader();
  return leader === undefined
    ? undefined
    : `the manager ${leader} leads, and deletes what its Services no longer need. Stop it before you delete anything here`;
}

export const cleanupCommand: Command = {
  page: {
    name: "cleanup",
    summary:
      "List the load balancers and routes that a cluster left in the cloud, and delete them after confirmation.",
    details: [
      "Pass the manager's cloud settings and --cluster-name, and --cluster-cidr if it managed routes. Without a terminal and without --yes, cleanup only lists.",
      "Only objects with Fairlead's mark and routes in --cluster-cidr are deleted. Objects of existing Services and Nodes always stay, and nothing is deleted while a manager leads. If the cluster no longer exists, set --cluster-is-gone and --cluster-name.",
      "In some clouds the mark does not contain the cluster name. There, select owners with --owner, or everything with --all-marked.",
    ],
    flags: [
      ...([
        "yes",
        "owner",
        "all-marked",
        "cluster-is-gone",
        "cluster-name",
        "cluster-uid",
        "cluster-cidr",
      ] as const),
      ...(["output", "timeout", "kubeconfig", "context"] as const),
    ],
    exitCodes: {
      "0": "nothing was left, or everything that was selected is deleted",
      "1": "refused, or something could not be listed or deleted; the message says what to do",
      "3": "something is left and was only listed: not confirmed, or not selected",
    },
    examples: [
      {
        text: "Only list, even in a script without a terminal",
        words: "cleanup --cluster-name=prod --cluster-cidr=10.244.0.0/16 < /dev/null",
      },
      {
        text: "After the cluster was deleted",
        words: "cleanup --cluster-name=prod --cluster-cidr=10.244.0.0/16 --cluster-is-gone",
      },
      {
        text: "One load balancer, where marks do not name the cluster",
        words: "cleanup --owner=7d5c3c0e-95a2-4ad5-8d2c-3b1e6a3c9f10 --yes",
      },
    ],
  },
  requires: "settings",
  async run(invocation) {
    // Loaded here because only this command needs the code.
    const [
      { leaderOf, readCluster },
      { takeSurvey },
      { LeftoverRemoval },
      { countText, isDeletable, removalText, surveyData, surveyText },
      { isProved },
      { cloudOf },
    ] = await Promise.all([
      import("../../inspect/cleanup/cluster-state.ts"),
      import("../../inspect/cleanup/survey.ts"),
      import("../../inspect/cleanup/delete-leftovers.ts"),
      import("../../inspect/cleanup/cleanup-text.ts"),
      import("../../inspect/cleanup/leftovers.ts"),
      import("../operator.ts"),
    ]);
    const { configuration, console } = invocation;
    if (invocation.refuse(flagProblems(configuration.settings))) return;
    const operator = await invocation.operator("cleanup");
    const { settings } = operator;
    const { flags } = settings;
    const selection = { owners: new Set(flags.owner ?? []), allMarked: flags["all-marked"] };
    const cluster = await readCluster(operator);
    const survey = await takeSurvey(operator, cloudOf(operator, "read", cluster.uid), cluster, selection);
    const text = surveyText(survey, flags["cluster-name"], noRoutes(settings));
    await invocation.print(surveyData(survey), text);
    const found = survey.leftovers.filter(isDeletable);
    if (found.length === 0) {
      const isLeft = survey.leftovers.some(({ kept }) => kept?.kind === "unselected");
      invocation.exitCode = survey.problems.length > 0 ? 1 : isLeft ? 3 : 0;
      return;
    }
    if (!invocation.canConfirm) {
      invocation.writeError("nothing was deleted; to delete what is left, run cleanup again with --yes");
      invocation.exitCode = survey.problems.length > 0 ? 1 : 3;
      return;
    }
    const unproved = found.filter((leftover) => !isProved(leftover, cluster.uid, selection));
    const refused =
      wrongCluster(cluster, flags, unproved, countText) ??
      (await refusal(cluster, flags, () => leaderOf(operator, cluster)));
    if (refused !== undefined) {
      invocation.writeError(`nothing was deleted: ${refused}`);
      invocation.exitCode = 1;
      return;
    }
    if (selection.allMarked)
      invocation.writeError(
        "--all-marked also deletes load balancers of other clusters in the same project or account, if marks do not name the cluster",
      );
    if (!(await invocation.isConfirmed(`Delete ${countText(found)} for good?`))) {
      invocation.writeError("nothing was deleted");
      invocation.exitCode = 3;
      return;
    }
    const progress = (text: string): void => console.err(`${text}\n`);
    const options = { operator, selection, before: cluster, confirmed: found, progress };
    const result = await new LeftoverRemoval(options).run();
    await invocation.printOutcome(removalText(found, result));
    const isComplete = [result.failed, result.problems, survey.problems].every(({ length }) => length === 0);
    invocation.exitCode = isComplete ? 0 : 1;
  },
};
