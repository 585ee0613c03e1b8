/** What to do about each error, by its code: a line of the terminal, and a column of the reference, which has all codes. */
export const REMEDIES: Readonly<Record<string, string>> = {
  ALREADY_STARTED: 'Create a new manager. A manager starts once and cannot start again after its stop.',
  BAD_KUBECONFIG: 'Correct the kubeconfig at the place that the message names, or set `KUBECONFIG`.',
  BAD_OPTIONS: 'Correct the option, flag or variable that the message names.',
  CLEANUP_TIMEOUT: 'Make the cleanup react to its signal, or raise `lease.cleanupTimeoutMs`.',
  CONTROLLER_FAILED: 'Look at `cause`: the error of the controller. It failed too often to be restarted.',
  CONTROLLER_RESTART: 'Nothing: the run ends because the controller restarts.',
  CONTROLLER_RETURNED: 'Keep `run()` pending while the term lasts, for example with `await term.every(…)`.',
  ENDPOINTS_REFUSED:
    'Correct what the message names: create the Service without a selector, choose another `slice`, give all replicas the same `ports`, or raise `count`.',
  EXTENSION_OVERDUE: 'Make `stop()` of the extension end in time, or raise the `stopTimeoutMs` of its group.',
  LEADERSHIP_ENDED: 'Nothing: this is the reason of `term.signal`. Take no new work and let the term end.',
  LEADERSHIP_LOST: 'Nothing if you turned `GracefulLeaderTransition` off: the process exits when it loses the lease.',
  LEAKS_FOUND: 'Apply the fix that the report names for each leak.',
  LOCK_REQUEST_FAILED:
    'Look at `failure`: `rejected` needs a correction of rights or names; `unknown-outcome` and `conflict` resolve themselves.',
  NOT_HELD: 'Stop the write. The term is no longer held.',
  NO_PROGRESS: 'Call `term.progress()` more often than `progressTimeoutMs`, or find what blocks the controller.',
  OWNED_EXIT:
    'Look at the exit code of the child or worker. Handle the failure in the child, or let the controller restart.',
  SCOPE_CLOSED: 'Nothing: the term has begun to end. Start no new work.',
  SELF_WAIT: 'Call `term.stepDown()` in a task, or do not await `manager.stop()` there.',
  STALE_EPOCH: 'Stop the work: a later term has begun.',
  STALE_VERSION: 'Read the object again and repeat the write.',
  STORE_CONFLICT: 'Read the object again and repeat the write.',
  TERMINAL: 'Correct the cause. A controller throws this error to give up the term without a restart.',
  WARM_UP_OVER: 'Nothing: this is the reason of `warm.signal`. End the warm-up.',
  WATCHDOG_DIED: 'Look at `cause`. The process ends, because nothing guards the term.',
  WATCH_INTERRUPTED: 'Nothing: the watch reconnects. Look for a proxy that cuts idle connections if it repeats.',
  WEDGED: 'Find the task that the message names and make it react to `term.hardSignal`.',
  WRITE_GATE_CLOSED: 'Nothing: the gate has refused a write of a term that has ended.',
}
