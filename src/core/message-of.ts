// What an error says: anything may be thrown, and only some of it has a message.

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
