/** A part of the process that starts before everything that stands for election and stops after it. */
export interface Service {
  readonly name: string
  /** Resolves when the service is up; rejects when it cannot be, having left nothing behind. */
  start(): Promise<void>
  /** Resolves when nothing of the service is left. */
  stop(): Promise<void>
}
