// A world whose cloud is scripted by the test, with everything of the contract that the fake cloud lacks.

import { ScriptedBalancers } from "./scripted-balancers.ts";
import { ServiceWorld } from "./service-world.ts";

export const scriptedWorld = (change: (script: ScriptedBalancers) => void = () => undefined) => {
  let script: ScriptedBalancers | undefined;
  const provider = {
    ...new ScriptedBalancers({} as never).provider(),
    connect: () => {
      if (script === undefined) throw new Error("The world is not there yet.");
      return script.provider().connect({} as never, {} as never);
    },
  };
  const w = new ServiceWorld({ provider, providerIDOf: (node) => `scripted://${node}` });
  script = new ScriptedBalancers(w.clock);
  change(script);
  return { w, script };
};
