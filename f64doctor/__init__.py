"""f64doctor: finds out why Keras/TensorFlow in double precision fails, is slow, or is not double precision at all."""

__version__ = "0.1.0"
