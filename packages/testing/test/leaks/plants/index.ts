import { filePlants } from './files.ts'
import { globalPlants } from './globals.ts'
import { listenerPlants } from './listeners.ts'
import { networkPlants } from './network.ts'
import { observerPlants } from './observers.ts'
import type { Plant } from './plant.ts'
import { processPlants } from './processes.ts'
import { settingPlants } from './settings.ts'
import { tenurePlants } from './tenure.ts'
import { timerPlants } from './timers.ts'

export type { CleanUp, Plant } from './plant.ts'

/** Every kind of leak that the detector has to see, each with a clean twin. */
export const plants: readonly Plant[] = [
  ...timerPlants,
  ...listenerPlants,
  ...networkPlants,
  ...filePlants,
  ...processPlants,
  ...observerPlants,
  ...globalPlants,
  ...settingPlants,
  ...tenurePlants,
]
