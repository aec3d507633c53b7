// For whom a step in the cloud is, and what they wish, in a few words for the log. Names, ports and counts only: settings of
// a balancer may hold anything. Pure.

import { shortList } from "../../../core/text.ts";
import type { Member } from "../desired/member.ts";

export function describeDesired(members: readonly Pick<Member, "desired">[]): string {
  if (members.length === 0) return "no Service asks for it any more";
  return shortList(
    members.map(({ desired: { owner, ports, targets, ending } }) => {
      const name = `${owner.namespace}/${owner.name}`;
      if (ending !== undefined) return `${name} asks for it no more`;
      const list = ports.map(({ port, protocol }) => `${port}/${protocol}`);
      const shown = list.slice(0, 8).join(" ");
      const rest = list.length > 8 ? ` … and ${list.length - 8} more` : "";
      return `for ${name}: ports ${shown}${rest} to ${targets.length} targets`;
    }),
  );
}
