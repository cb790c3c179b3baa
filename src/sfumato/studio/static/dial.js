// A slider with its number beside it. Emits `moved` with every value on the way and `settled` with the one that is
// settled on, as text. What is being typed is kept, whatever else on the page changes meanwhile.
export default {
  template: `
    <div class="dial">
      <label class="labelled">
        <span class="label">{{ label }}</span>
        <input type="range" :min="Math.min(least, now)" :max="Math.max(greatest, now)" :step="step" :value="now"
          @input="slide" @change="settle">
      </label>
      <input ref="number" class="control number" type="number" :step="step" :aria-label="label + ', as a number'"
        :aria-invalid="wrong ? 'true' : null" @input="typing = true" @change="settle">
    </div>`,
  props: { label: String, least: Number, greatest: Number, step: Number, content: String, turn: Number, wrong: Boolean },
  emits: ["moved", "settled"],
  data() { return { now: Number(this.content), typing: false }; },
  mounted() { this.$refs.number.value = this.content; },
  watch: {
    turn() {
      if (this.typing) return;
      this.now = Number(this.content);
      this.$refs.number.value = this.content;
    },
  },
  methods: {
    slide(event) {
      this.now = Number(event.target.value);
      this.$refs.number.value = event.target.value;
      this.typing = false;
      this.$emit("moved", event.target.value);
    },
    settle(event) {
      this.typing = false;
      if (event.target.value !== "") this.now = Number(event.target.value);
      this.$emit("settled", event.target.value);
    },
  },
};
