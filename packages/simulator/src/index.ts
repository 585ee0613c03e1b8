import '@tenure/core/supported-node'

export { describeReport, simulate, type SimulateOptions, type SimulationReport } from './simulate.ts'
export { simulateSeeds, type SimulateSeedsOptions } from './simulate-seeds.ts'
export type { SimulatedControllerFactory, SimulationOptions } from './simulation-options.ts'
export type { SimulatedWorld } from './simulated-world.ts'
export { type Entry, StaleEpochError, StaleVersionError } from './store/simulated-store.ts'
export { FAULT_KINDS, type FaultKind } from './faults.ts'
export type { Violation } from './violation.ts'
