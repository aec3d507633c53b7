// What a provider needs from Kubernetes, declared by it and handed to it as values: it never talks to Kubernetes.

export type InputKind = "Secret" | "ConfigMap" | "EndpointSlice";

export interface InputDeclaration {
  readonly kind: InputKind;
  /** Absent: all of that kind that belong to the Service (EndpointSlices) or are named by its settings. */
  readonly namespace?: string;
  readonly name?: string;
}

export interface InputObject {
  readonly namespace: string;
  readonly name: string;
  readonly data: Readonly<Record<string, string>>;
}

/** By kind; a declared object that does not exist is missing from its list. */
export type Inputs = Readonly<Partial<Record<InputKind, readonly InputObject[]>>>;
