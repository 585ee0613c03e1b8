import '@tenure/core/supported-node'

export { lockConformance } from './lock-conformance.ts'
export type { LockConformanceOptions, LockFixture } from './lock-fixture.ts'
