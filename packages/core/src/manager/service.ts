/** Which services start after which: in this order, and stop in reverse. */
export const SERVICE_GROUPS = ['servers', 'caches'] as const

/** What a service is to the others. */
export type ServiceGroup = (typeof SERVICE_GROUPS)[number]

/** A part of the process that starts before everything that stands for election and stops after it. */
export interface Service {
  readonly name: string
  /** Services of one group start in the order in which they were given. @default 'servers' */
  readonly group?: ServiceGroup
  /** Resolves when the service is up; rejects when it cannot be, having left nothing behind. */
  start(): Promise<void>
  /** Resolves when nothing of the service is left. */
  stop(): Promise<void>
}
