// Operations on classic and network load balancers.

import { elbActions, elbv2Actions } from "../../api/actions.ts";
import type { Account } from "../state/account.ts";
import { refusal } from "../state/balancing-parameters.ts";
import type { QueryOperations } from "./operations.ts";

export function balancerOperations({ classic, network }: Account): QueryOperations {
  const operations = (service: string, actions: object, answer: typeof classic.answer) =>
    Object.keys(actions).map((action): [string, QueryOperations[string]] => [
      `${service}:${action}`,
      (parameters) => {
        const content = answer(action, parameters);
        if (content === undefined) throw refusal("InvalidAction", `The simulator has no action ${action}.`);
        return content;
      },
    ]);
  return Object.fromEntries([
    // The Go manager requests the policies.
    ...operations("elb", { ...elbActions, DescribeLoadBalancerPolicies: true }, (action, parameters) =>
      classic.answer(action, parameters),
    ),
    ...operations("elbv2", elbv2Actions, (action, parameters) => network.answer(action, parameters)),
  ]);
}
