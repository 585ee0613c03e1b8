import type { Clock } from '../ports/clock.ts'
import { TenureError } from '../tenure-error.ts'
import type { ResolvedGroupOptions } from './group-options.ts'
import { type Service, SERVICE_GROUPS, type ServiceGroup } from './service.ts'

/** A service did not stop within the budget of its group. It was left to itself. */
export class ServiceOverdueError extends TenureError {
  override readonly code = 'SERVICE_OVERDUE'

  constructor(service: string, group: ServiceGroup, stopTimeoutMs: number) {
    super(`Service \`${service}\` did not stop within the ${stopTimeoutMs} ms of the group \`${group}\``)
  }
}

/** What {@link RunningServices} are made of. */
export interface RunningServicesOptions {
  readonly services: readonly Service[]
  readonly groups: ResolvedGroupOptions
  readonly clock: Clock
  readonly onFailure: (error: unknown) => void
}

/** The services of a manager: started group by group, each in order, and stopped in reverse, each group in a time of its own. */
export class RunningServices {
  readonly #options: RunningServicesOptions
  readonly #services: readonly GroupedService[]
  readonly #started: GroupedService[] = []

  constructor(options: RunningServicesOptions) {
    this.#options = options
    // Asked once: a getter that fails later would keep the others from being stopped.
    this.#services = options.services.map((service) => ({ service, group: service.group ?? 'servers' }))
  }

  /** Starts them until `isStopping`. Rejects when one cannot start; those before it go on. */
  async start(isStopping: () => boolean): Promise<void> {
    for (const group of SERVICE_GROUPS) {
      for (const candidate of this.#services.filter((candidate) => candidate.group === group)) {
        if (isStopping()) return
        await candidate.service.start()
        this.#started.push(candidate)
      }
    }
  }

  /** Stops what has started. Resolves when that is done, or given up. Never rejects. */
  async stop(): Promise<void> {
    const started = this.#started.splice(0).toReversed()
    for (const group of SERVICE_GROUPS.toReversed()) {
      await this.#stopGroup(
        group,
        started.flatMap((candidate) => (candidate.group === group ? [candidate.service] : [])),
      )
    }
  }

  /** Once the time of the group is over, what is left of it is told to stop and not waited for. */
  async #stopGroup(group: ServiceGroup, services: readonly Service[]): Promise<void> {
    if (services.length === 0) return
    const { clock, groups, onFailure } = this.#options
    const { stopTimeoutMs } = groups[group]
    const over = Promise.withResolvers<'overdue'>()
    const timer = clock.setTimer(stopTimeoutMs, () => over.resolve('overdue'))
    let isOverdue = false
    for (const service of services) {
      const stopped = stop(service)
      // One that is left to itself may still fail.
      stopped.catch(() => {})
      if (isOverdue) continue
      try {
        isOverdue = (await Promise.race([stopped, over.promise])) === 'overdue'
        if (isOverdue) onFailure(new ServiceOverdueError(service.name, group, stopTimeoutMs))
      } catch (error) {
        onFailure(error)
      }
    }
    timer.cancel()
  }
}

interface GroupedService {
  readonly service: Service
  readonly group: ServiceGroup
}

async function stop(service: Service): Promise<'stopped'> {
  await service.stop()
  return 'stopped'
}
