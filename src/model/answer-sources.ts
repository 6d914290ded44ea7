// Defines what an answer is made of.

/**
 * The immutable objects that an answer is made of, and numbers that stand for others. As long as each is the same, so is the
 * answer.
 */
export type AnswerSources = readonly unknown[];
