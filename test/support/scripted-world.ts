// A world with a scripted cloud, which implements everything in the contract that the fake cloud lacks.

import type { DeclaredReasons } from "../../src/index.ts";
import { ScriptedBalancers } from "./scripted-balancers.ts";
import { ServiceWorld } from "./service-world.ts";

const connected = (script: ScriptedBalancers) => script.provider().connect({} as never, {} as never);

type Balancers = NonNullable<ReturnType<typeof connected>["loadBalancers"]>;
type Listed = Balancers & { readonly list: Extract<Balancers["list"], (...input: never) => unknown> };

/** Overrides parts of the scripted load balancers. */
export type Override = (balancers: Listed) => Partial<Balancers>;

export const scriptedWorld = (
  change: (script: ScriptedBalancers) => void = () => undefined,
  override: Override = () => ({}),
  /** Parts of the definition. */
  definition: { readonly reasons?: DeclaredReasons } = {},
) => {
  let script: ScriptedBalancers | undefined;
  const provider = {
    ...new ScriptedBalancers({} as never).provider(),
    ...definition,
    connect: () => {
      if (script === undefined) throw new Error("The world is not there yet.");
      const cloud = connected(script);
      const { loadBalancers } = cloud;
      if (loadBalancers === undefined) throw new Error("The scripted cloud has balancers.");
      return { ...cloud, loadBalancers: { ...loadBalancers, ...override(loadBalancers as Listed) } };
    },
  };
  const w = new ServiceWorld({ provider, providerIDOf: (node) => `scripted://${node}` });
  script = new ScriptedBalancers(w.clock);
  change(script);
  return { w, script };
};
