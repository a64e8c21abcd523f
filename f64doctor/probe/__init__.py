"""What runs beside TensorFlow in the user's interpreter: it reports facts, judges nothing, and never breaks the script.

Standard library only, valid on Python 3.9 and later. Started as ``python -u PATH/probe OPTIONS TARGET ARGS…``; it loads itself under a private
package name, so that no module of the user's can be mistaken for one of its own.
"""
