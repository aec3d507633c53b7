// Words for an instance whose name the cloud does not show at the moment. Pure.

import type { Instance } from "../provider/instances.ts";

/** Two sentences about a Node without provider ID that no instance has the name of. */
export function describeUnnamed({ title, problems = [] }: Instance): string {
  const why = problems.map(({ text }) => text).join(" ");
  return `The cloud has no instance with the name of this Node, but it does not show the name of ${title}, which may be the instance of this Node. ${why}`;
}
