/**
 * The diagnostics channel on which a lock publishes that its store went back to an older version, as after a restore from a backup. The
 * message has the `namespace` and, for a watch of one lease, its `name`.
 */
export const STORE_RESTORED_CHANNEL = 'tenure:store-restored'
