// Summarises what the Services of a group ask for, for the journal. Names, ports and counts only: settings may hold anything.
// Pure.

import { shortList } from "../../../core/text.ts";
import type { Member } from "../desired/member.ts";

const maxPorts = 8;

export function describeDesired(members: readonly Pick<Member, "desired">[]): string {
  if (members.length === 0) return "no Service asks for it any more";
  return shortList(
    members.map(({ desired: { owner, ports, targets, ending } }) => {
      const name = `${owner.namespace}/${owner.name}`;
      if (ending !== undefined) return `${name} no longer asks for it`;
      const list = ports.map(({ port, protocol }) => `${port}/${protocol}`);
      const shown = list.slice(0, maxPorts).join(" ");
      const more = list.length > maxPorts ? ` … and ${list.length - maxPorts} more` : "";
      return `for ${name}: ports ${shown}${more} to ${targets.length} targets`;
    }),
  );
}
