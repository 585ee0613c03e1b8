/** Written to the standard error by a plant that has grown: a detector that never came to run it has missed nothing. */
export const GROWN = 'the plant has grown'
