// Wind and tyres, by filtered noise whose loudness and pitch grow with the speed.
const LOUDEST = 0.5, FADE = 0.08;   // gain; time constant of changes, s

export class Sound {
  // Start or stop; browsers allow sound only after a click or key.
  play(on) {
    if (on && !this.context) this.make();
    if (on) this.context.resume();
    else this.context?.suspend();
  }

  get plays() { return this.context?.state === "running"; }

  make() {
    this.context = new AudioContext();
    const { context } = this, noise = context.createBuffer(1, 2 * context.sampleRate, context.sampleRate);
    const samples = noise.getChannelData(0);
    for (let k = 0; k < samples.length; k++) samples[k] = 2 * Math.random() - 1;
    const source = new AudioBufferSourceNode(context, { buffer: noise, loop: true });
    this.wind = this.filtered(source, "bandpass");
    this.tyres = this.filtered(source, "lowpass");
    source.start();
  }

  filtered(source, type) {
    const filter = new BiquadFilterNode(this.context, { type, Q: 0.8 }), gain = new GainNode(this.context, { gain: 0 });
    source.connect(filter).connect(gain).connect(this.context.destination);
    return { filter, gain };
  }

  // Sound of a speed (m/s), with tyres on the ground or not. Wind pressure grows with the square of the speed.
  show(speed, onGround, rides) {
    if (!this.plays) return;
    const v = rides ? Math.min(20, Math.abs(speed)) : 0;
    this.set(this.wind, 250 + 70 * v, LOUDEST * Math.min(1, (v / 14) ** 2));
    this.set(this.tyres, 90 + 25 * v, onGround ? LOUDEST * Math.min(1, v / 10) : 0);
  }

  set({ filter, gain }, frequency, loudness) {
    filter.frequency.setTargetAtTime(frequency, this.context.currentTime, FADE);
    gain.gain.setTargetAtTime(loudness, this.context.currentTime, FADE);
  }
}
