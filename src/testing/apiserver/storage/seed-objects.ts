// The objects of a new cluster: namespaces, their default service accounts, and the `kubernetes` Service. There are no Nodes.

import { resourceNamed } from "../objects/resource-table.ts";
import type { ObjectRegistry } from "./object-registry.ts";

const namespaces = ["default", "kube-node-lease", "kube-public", "kube-system"];

export function seedObjects(registry: ObjectRegistry): void {
  for (const name of namespaces) {
    registry.create(resourceNamed("namespaces"), "", { metadata: { name } });
    registry.create(resourceNamed("serviceaccounts"), name, { metadata: { name: "default" } });
  }
  registry.create(resourceNamed("services"), "default", {
    metadata: { name: "kubernetes", labels: { component: "apiserver", provider: "kubernetes" } },
    spec: { clusterIP: "10.96.0.1", ports: [{ name: "https", port: 443, targetPort: 6443 }] },
  });
}
