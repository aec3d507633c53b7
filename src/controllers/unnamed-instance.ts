// Words for an instance whose name the cloud does not show at the moment. Pure.

import type { Instance } from "../provider/instances.ts";

/** Why a Node without provider ID may have an instance that the cloud does not describe. */
export function describeUnnamed({ title, problems = [] }: Instance): string {
  const what = `The cloud has no instance with the name of this Node, but it does not show the name of ${title}, which may be the instance of this Node.`;
  return [what, ...problems.map(({ text }) => text)].join(" ");
}
