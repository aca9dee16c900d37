import { FRAME_SAMPLES, SAMPLE_RATE } from '../../media/audio-frame.ts';
