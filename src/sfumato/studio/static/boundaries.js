// A histogram with boundaries that are dragged, or moved with the arrow keys. Emits `moved` with place and value.
export default {
  template: `
    <div class="boundaries" ref="paper">
      <div class="bins" aria-hidden="true">
        <div v-for="(n, i) in counts" :key="i" :style="{height: 100 * n / top + '%'}"></div>
      </div>
      <button v-for="(b, i) in shown" :key="i" type="button" class="bound" role="slider" :style="{left: place(b) + '%'}"
        :aria-label="name + ', boundary ' + (i + 1) + ' of ' + shown.length" aria-orientation="horizontal"
        :aria-valuemin="edges[0]" :aria-valuemax="edges[edges.length - 1]" :aria-valuenow="b" :aria-valuetext="String(b)"
        @pointerdown="grab(i, $event)" @pointermove="drag($event)" @pointerup="drop" @keydown="key(i, $event)">
        <span>{{ b }}</span>
      </button>
    </div>`,
  props: { edges: Array, counts: Array, bounds: Array, step: Number, name: String },
  data() { return { held: -1, from: 0, shown: [...this.bounds] }; },
  watch: { bounds(now) { this.shown = [...now]; } },
  computed: {
    top() { return Math.max(1, ...this.counts); },
    low() { return Math.min(this.edges[0], this.bounds[0]); },
    high() { return Math.max(this.edges[this.edges.length - 1], this.bounds[this.bounds.length - 1]); },
  },
  methods: {
    place(value) { return 100 * (value - this.low) / (this.high - this.low); },
    settle(value) { return Number((Math.round(value / this.step) * this.step).toPrecision(12)); },
    between(i, value) {
      const before = i > 0 ? this.shown[i - 1] + this.step : -Infinity;
      const after = i < this.shown.length - 1 ? this.shown[i + 1] - this.step : Infinity;
      return Math.min(Math.max(value, before), after);
    },
    grab(i, event) { this.held = i; this.from = this.shown[i]; event.target.closest("button").setPointerCapture(event.pointerId); },
    drag(event) {
      if (this.held < 0) return;
      const paper = this.$refs.paper.getBoundingClientRect();
      const value = this.low + (event.clientX - paper.left) / paper.width * (this.high - this.low);
      this.shown[this.held] = this.settle(this.between(this.held, value));
    },
    drop() {
      if (this.held < 0) return;
      const i = this.held;
      this.held = -1;
      if (this.shown[i] !== this.from) this.$emit("moved", { place: i, to: this.shown[i] });
    },
    key(i, event) {
      const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 }[event.key];
      if (!by) return;
      event.preventDefault();
      const to = this.settle(this.between(i, this.shown[i] + by * this.step));
      if (to === this.shown[i]) return;
      this.shown[i] = to;
      this.$emit("moved", { place: i, to });
    },
  },
};
