// A world whose cloud is scripted by the test, with everything of the contract that the fake cloud lacks.

import { ScriptedBalancers } from "./scripted-balancers.ts";
import { ServiceWorld } from "./service-world.ts";

const connected = (script: ScriptedBalancers) => script.provider().connect({} as never, {} as never);

type Balancers = NonNullable<ReturnType<typeof connected>["loadBalancers"]>;

/** What this cloud does otherwise than the scripted one. */
export type Otherwise = (balancers: Balancers) => Partial<Balancers>;

export const scriptedWorld = (
  change: (script: ScriptedBalancers) => void = () => undefined,
  otherwise: Otherwise = () => ({}),
) => {
  let script: ScriptedBalancers | undefined;
  const provider = {
    ...new ScriptedBalancers({} as never).provider(),
    connect: () => {
      if (script === undefined) throw new Error("The world is not there yet.");
      const cloud = connected(script);
      const { loadBalancers } = cloud;
      if (loadBalancers === undefined) throw new Error("The scripted cloud has balancers.");
      return { ...cloud, loadBalancers: { ...loadBalancers, ...otherwise(loadBalancers) } };
    },
  };
  const w = new ServiceWorld({ provider, providerIDOf: (node) => `scripted://${node}` });
  script = new ScriptedBalancers(w.clock);
  change(script);
  return { w, script };
};
