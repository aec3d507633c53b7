// Checks for CSI drivers that have not registered on an uninitialized Node, because many drivers wait for its provider id. Pure.

import { uninitializedTaint } from "../../controllers/well-known.ts";
import { countOf, shortList } from "../../core/text.ts";
import { about } from "./check-cluster.ts";
import { type CheckFinding, type KnownFacts, warning } from "./doctor-facts.ts";

export function checkDrivers({ cluster: { nodes, drivers } }: KnownFacts): readonly CheckFinding[] {
  return about("the CSI drivers", drivers, ({ installed, byNode }) => {
    const all = "value" in nodes ? nodes.value : [];
    const waiting = all.filter(
      ({ isSelected, isUninitialized, providerID }) =>
        isSelected && (isUninitialized || providerID === undefined),
    );
    return installed.flatMap((driver): readonly CheckFinding[] => {
      const found = waiting.filter(({ metadata }) => !byNode.get(metadata.name)?.includes(driver));
      if (found.length === 0) return [];
      const names = shortList(found.map(({ metadata }) => metadata.name));
      return warning("DriverWaitsForNodes", {
        text: `The CSI driver ${driver} has not registered on ${countOf(found.length, "Node")} without a provider ID or with the taint ${uninitializedTaint}: ${names}.`,
        effect:
          "Pods with its volumes do not start there. Drivers such as the vSphere driver wait for the provider ID, and with topology for the labels of zone and region, which the manager writes.",
        remedy: "Initialize these Nodes: see NodesUninitialized or KubeletWithoutExternalCloud.",
      });
    });
  });
}
