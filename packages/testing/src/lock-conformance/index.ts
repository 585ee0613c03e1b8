import '@tenure/core/supported-node'

export { lockConformance } from './lock-conformance.ts'
export type {
  ForeignData,
  LockConformanceCase,
  LockConformanceOptions,
  LockFixture,
  LockModule,
  LockOutage,
} from './lock-fixture.ts'
