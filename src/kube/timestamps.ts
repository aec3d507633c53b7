// Wall time in the two spellings Kubernetes uses. Pure.

/** `metav1.Time`: whole seconds. */
export const toTime = (now: number): string => `${new Date(now).toISOString().slice(0, 19)}Z`;

/** `metav1.MicroTime`: always six digits; the server refuses fewer. */
export const toMicroTime = (now: number): string => `${new Date(now).toISOString().slice(0, 23)}000Z`;
