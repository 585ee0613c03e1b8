/** A plant writes this to standard error once it has run. Without it, the detector has missed nothing. */
export const GROWN = 'the plant has grown'
