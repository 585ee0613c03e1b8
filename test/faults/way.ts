import type { Toxic, Toxiproxy } from '@tenure/test-control-plane'

/** How a replica reaches the API server, and what can be made to go wrong on it. */
export interface Way {
  readonly url: string
  /** Nothing goes wrong any more, from fresh connections on. */
  mend(): Promise<void>
}

/** Straight to the API server: nothing can go wrong. */
export function directWay(url: string): Way {
  return { url, mend: async () => {} }
}

/** Through a TCP proxy, on which bytes can be lost, delayed and cut off. */
export class ToxicWay implements Way {
  readonly url: string
  readonly #toxiproxy: Toxiproxy
  readonly #name: string

  private constructor(toxiproxy: Toxiproxy, name: string, url: string) {
    this.#toxiproxy = toxiproxy
    this.#name = name
    this.url = url
  }

  static async open(toxiproxy: Toxiproxy, target: string): Promise<ToxicWay> {
    const name = `way-${++ways}`
    const port = await toxiproxy.createProxy(name, Number(new URL(target).port))
    return new ToxicWay(toxiproxy, name, `https://127.0.0.1:${port}`)
  }

  async poison(toxics: readonly Toxic[]): Promise<void> {
    for (const toxic of toxics) await this.#toxiproxy.addToxic(this.#name, toxic)
  }

  /** Refuses connections and cuts those that are open. */
  async cut(): Promise<void> {
    await this.#toxiproxy.setEnabled(this.#name, false)
  }

  async mend(): Promise<void> {
    await this.#toxiproxy.removeToxics(this.#name)
    await this.#toxiproxy.setEnabled(this.#name, false)
    await this.#toxiproxy.setEnabled(this.#name, true)
  }
}

let ways = 0
